"""Parse and validate the head of one request, or refuse it.

httptools (llhttp) implements the grammar; whatever it accepts that RFC 9112 forbids is
refused here. The caller has already found the end of the head and limited its size.
Nothing here knows about sockets, time or the product: the handler turns a refusal into
an answer.
"""

import re
from typing import NoReturn

from httptools import HttpParserError, HttpParserInvalidURLError, HttpRequestParser

# The codes of the refusals that come from `http`; the handler renders them.
MALFORMED_REQUEST = "malformed_request"
UNSUPPORTED_TRANSFER_CODING = "unsupported_transfer_coding"
TARGET_TOO_LONG = "target_too_long"
HEADERS_TOO_LARGE = "headers_too_large"
REQUEST_TOO_LARGE = "request_too_large"
REQUEST_TIMEOUT = "request_timeout"
UNAVAILABLE = "unavailable"
HEAD_END = b"\r\n\r\n"

# RFC 9110 §5.6.2: the characters of a token. A method is a token (§9.1).
_TOKEN_BYTES = (
    b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
# RFC 9110 §5.5: apart from tab and line ends, a head contains no control characters.
_CONTROLS = bytes({*range(0x20), 0x7F} - {0x09})
_NO_CONTROLS = bytes(set(range(256)) - set(_CONTROLS))
# RFC 9112 §3: method SP request-target SP HTTP-version. RFC 9110 §2.5: later minor
# versions are handled as 1.1, and other major versions are refused.
_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) (\S+) HTTP/1\.([0-9])\r\n")
_UPGRADE = re.compile(rb"^upgrade:[^\r\n]*\r\n", re.IGNORECASE | re.MULTILINE)
# RFC 9112 §3.2.2: absolute-form, split into authority and path.
_ABSOLUTE_FORM = re.compile(rb"https?://([^/?#]*)([^#]*)", re.IGNORECASE)
# RFC 9110 §7.2: uri-host [":" port], without user information. A comma would mean that
# a proxy has joined two hosts.
_HOST = re.compile(
    rb"(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z\-._~%!$&'()*+;=]+)(?::[0-9]{0,5})?"
)
# RFC 6750 §2.1, with the scheme in any case and one or more spaces (RFC 9110 §11.4). No
# key contains other characters; the handler may explain a value that does.
_BEARER = re.compile(rb"bearer +([-_0-9A-Za-z]++)", re.IGNORECASE)

_NO_REQUEST_LINE = "The request line is not 'method target HTTP/1.1'."
_INVALID_TARGET = (
    "The target of the request line must be a path that begins with a slash, or a "
    "whole http address, and contain only characters that are valid in a URL."
)
_INVALID_FIELD = "A header field or the framing of the body is not valid"
_NOT_CHUNKED = "The Transfer-Encoding must end with chunked, once."


class Refused(Exception):
    """A request is refused. The detail says why without quoting the request."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail


class Head:
    """One request head, fully validated."""

    def __init__(
        self,
        method: bytes,
        target: bytes,
        fields: dict[bytes, list[bytes]],
        *,
        is_http_10: bool,
    ) -> None:
        self.method = method
        self.target = target
        # The values of each field, by its lower-case name.
        self.fields = fields
        self.is_http_10 = is_http_10
        # The key from `Authorization: Bearer <key>`; empty if there is no such field,
        # more than one, or one in another form.
        credentials = fields.get(b"authorization", [])
        found = _BEARER.fullmatch(credentials[0]) if len(credentials) == 1 else None
        self.key = found[1] if found else b""

    def all(self, name: bytes) -> list[bytes]:
        return self.fields.get(name, [])

    def first(self, name: bytes) -> bytes | None:
        values = self.fields.get(name)
        return values[0] if values else None


class _Fields:
    def __init__(self) -> None:
        self.url = b""
        self.by_name: dict[bytes, list[bytes]] = {}
        self.count = 0

    def on_url(self, fragment: bytes) -> None:
        self.url += fragment

    def on_header(self, name: bytes, value: bytes) -> None:
        self.count += 1
        name = name.lower()
        # RFC 9112 §5: surrounding white space is not part of the value, but llhttp only
        # removes it before the value.
        value = value.rstrip(b" \t")
        if name in self.by_name:
            self.by_name[name].append(value)
        else:
            self.by_name[name] = [value]


def parse(data: bytes, max_fields: int) -> Head:
    """Return the head in `data`, which has its blank line, or raise `Refused`."""
    check_beginning(data)
    line = _REQUEST_LINE.match(data)
    if not line:
        raise Refused(MALFORMED_REQUEST, _NO_REQUEST_LINE)
    fields = _run_parser(line, data)
    target, authority = _split_target(line[1], fields.url)
    head = Head(line[1], target, fields.by_name, is_http_10=line[3] == b"0")
    _check_host(head, authority)
    if authority is not None:
        head.fields[b"host"] = [authority]
    _check_transfer_coding(head)
    if fields.count > max_fields:
        detail = f"The head has more than {max_fields} header fields."
        raise Refused(HEADERS_TOO_LARGE, detail)
    return head


def check_beginning(part: bytes, *, is_start: bool = True) -> None:
    """Refuse a complete or partial head that contains an invalid byte.

    A line feed or carriage return without the other is invalid (RFC 9112 §2.2), as are
    control characters (RFC 9110 §5.5), and a first byte that cannot begin a method, as
    in a TLS handshake. The first such byte decides, so the refusal does not depend on
    how the head was split into packets.
    """
    if is_start and part[:1] not in _TOKEN_BYTES:
        raise Refused(
            MALFORMED_REQUEST, "The first byte does not begin an HTTP method."
        )
    # A carriage return at the very end is checked together with the next byte.
    new = part.removesuffix(b"\r")
    bad = new.replace(b"\r\n", b"").translate(None, _NO_CONTROLS)
    if not bad:
        return
    if bad[0] in b"\r\n":
        raise Refused(
            MALFORMED_REQUEST,
            "The head has a line that does not end with CRLF. Perhaps a value, such as "
            "a key, was read with a line break at its end.",
        )
    raise Refused(MALFORMED_REQUEST, "The head contains a control character.")


def refuse_too_large(window: bytes, max_bytes: int) -> NoReturn:
    """Refuse a head of more than `max_bytes`; `window` holds its beginning."""
    line = _REQUEST_LINE.match(window)
    if line:
        _run_parser(line, window)
        detail = f"The head is larger than {max_bytes} bytes."
        raise Refused(HEADERS_TOO_LARGE, detail)
    # RFC 9112 §3: 414 if the target of the request line is too long.
    if b"\r\n" not in window and b" " in window:
        detail = f"The request line is longer than {max_bytes} bytes."
        raise Refused(TARGET_TOO_LONG, detail)
    raise Refused(MALFORMED_REQUEST, _NO_REQUEST_LINE)


def _run_parser(line: re.Match[bytes], data: bytes) -> _Fields:
    """Run llhttp over a complete or partial head; raise `Refused` if it is invalid.

    llhttp knows only the methods in its table, although any token is a method (RFC 9110
    §9.1). It stops at CONNECT and at Upgrade, which a server may ignore (§7.8), and
    knows no version after 1.1. So we pass it the head of a POST in version 1.0 or
    1.1, without Upgrade.
    """
    method, target, minor_version = line.groups()
    if method == b"CONNECT":
        # RFC 9112 §3.2.3: CONNECT has an authority as its target, which llhttp refuses
        # for POST. `_split_target` refuses it later.
        target = b"/" + target
    request_line = b"POST %b HTTP/1.%b\r\n" % (target, min(minor_version, b"1"))
    rest = data[line.end() :]
    if b"upgrade:" in rest.lower():
        rest = _UPGRADE.sub(b"", rest)
    fields = _Fields()
    parser = HttpRequestParser(fields)
    try:
        parser.feed_data(request_line + rest)
    except HttpParserInvalidURLError:
        raise Refused(MALFORMED_REQUEST, _INVALID_TARGET) from None
    except HttpParserError as error:
        # llhttp's reasons are fixed strings that quote nothing from the request.
        raise Refused(MALFORMED_REQUEST, f"{_INVALID_FIELD}: {error}.") from None
    return fields


def _split_target(method: bytes, url: bytes) -> tuple[bytes, bytes | None]:
    """Return the path and the authority of a request target.

    RFC 9112 §3.2 has four forms: origin-form; absolute-form, which a server must
    accept; authority-form, only for CONNECT; and asterisk-form, only for OPTIONS.
    """
    if url.startswith(b"/") or (method, url) == (b"OPTIONS", b"*"):
        return url, None
    absolute = _ABSOLUTE_FORM.fullmatch(url)
    if not absolute:
        raise Refused(MALFORMED_REQUEST, _INVALID_TARGET)
    return absolute[2] or b"/", absolute[1]


def _check_host(head: Head, authority: bytes | None) -> None:
    """Refuse a head without exactly one valid Host (RFC 9112 §3.2).

    Only HTTP/1.0 may omit it. The authority of an absolute target replaces Host
    (§3.2.2), so it is validated as well.
    """
    hosts = head.all(b"host")
    if len(hosts) > 1 or not (hosts or head.is_http_10):
        raise Refused(MALFORMED_REQUEST, "There must be exactly one Host header.")
    for host in [*hosts, *([authority] if authority is not None else [])]:
        if not _HOST.fullmatch(host):
            raise Refused(
                MALFORMED_REQUEST, "The Host header is not a valid host and port."
            )


def _check_transfer_coding(head: Head) -> None:
    """Refuse any Transfer-Encoding but chunked; in HTTP/1.0, refuse chunked, too.

    RFC 9112 §6.1: a coding that we do not implement gets 501; HTTP/1.0 has no transfer
    codings. If chunked is not the last coding, the message has no known end, so it
    gets 400 whatever the others are (§6.3). llhttp has already refused most of these.
    """
    values = head.all(b"transfer-encoding")
    if not values:
        return
    if head.is_http_10:
        raise Refused(MALFORMED_REQUEST, "HTTP/1.0 does not have Transfer-Encoding.")
    codings = [part.strip().lower() for part in b",".join(values).split(b",")]
    if codings == [b"chunked"]:
        return
    if b"" in codings or codings.count(b"chunked") != 1 or codings[-1] != b"chunked":
        raise Refused(MALFORMED_REQUEST, _NOT_CHUNKED)
    raise Refused(
        UNSUPPORTED_TRANSFER_CODING,
        "The only accepted Transfer-Encoding is chunked.",
    )
