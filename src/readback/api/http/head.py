"""Parse and validate the head of one request, or refuse it.

httptools (llhttp) knows the grammar; what it accepts and RFC 9112 forbids is refused
here. The caller has found the end of the head and bounded its size. Nothing here knows
about sockets, time or what is served.
"""

import re

from httptools import HttpParserError, HttpParserUpgrade

from readback.api.http.message import Message
from readback.api.http.refused import (
    HEADERS_TOO_LARGE,
    MALFORMED_REQUEST,
    TARGET_TOO_LONG,
    UNSUPPORTED_TRANSFER_CODING,
    Refused,
)

HEAD_END = b"\r\n\r\n"

# RFC 9110 §5.6.2: the characters of a token. A method is a token (§9.1).
_TOKEN_BYTES = (
    b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
# RFC 9110 §5.5: control characters other than tab are invalid in a field value. CR and
# LF are checked in pairs.
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# RFC 9112 §3: method SP request-target SP HTTP-version. Version 1.0 or 1.1 only (§2.3).
_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) (\S+) HTTP/1\.[01]\r\n")
# RFC 9112 §3.2.2: absolute-form, split into authority and path.
_ABSOLUTE_FORM = re.compile(rb"https?://([^/?#]*)([^#]*)", re.IGNORECASE)
# RFC 9110 §7.2: uri-host [":" port], without user information. No comma either: that
# would be two hosts that a proxy has joined.
_HOST = re.compile(
    rb"(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z\-._~%!$&'()*+;=]+)(?::[0-9]{0,5})?"
)
# A head with one of these fields needs the parser every time.
_UNREPEATABLE = frozenset((b"expect", b"trailer", b"transfer-encoding", b"upgrade"))

_NO_REQUEST_LINE = "The request line is not 'method target HTTP/1.1'."
_INVALID_FIELD = "A header field or the framing of the body is not valid."


class Head:
    """One request head, fully validated."""

    __slots__ = (
        "chunked",
        "content_length",
        "expects_continue",
        "fields",
        "is_http_10",
        "keep_alive",
        "method",
        "repeatable",
        "target",
    )

    def __init__(
        self,
        method: bytes,
        target: bytes,
        fields: list[tuple[bytes, bytes]],
        *,
        is_http_10: bool,
    ) -> None:
        self.method = method
        self.target = target
        self.fields = fields
        self.is_http_10 = is_http_10
        # RFC 9110 §9.3.6: a successful CONNECT would turn the connection into a tunnel.
        # We never accept one, and do not read on after it.
        self.keep_alive = method != b"CONNECT" and self._persists()
        self.chunked = bool(self.all(b"transfer-encoding"))
        # RFC 9110 §8.6. llhttp has bounded the number, but not the zeros before it,
        # and Python refuses to convert thousands of digits.
        length = (self.first(b"content-length") or b"").lstrip(b"0")
        self.content_length = int(length or b"0")
        # RFC 9110 §10.1.1: an HTTP/1.0 client does not understand 100 (Continue).
        expectation = (self.first(b"expect") or b"").lower()
        self.expects_continue = not is_http_10 and expectation == b"100-continue"
        # RFC 9110 §9.3.2: the body of the answer to HEAD is cut off on the normal path.
        self.repeatable = self.keep_alive and method != b"HEAD" and self._is_plain()

    def all(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.fields if key == name]

    def first(self, name: bytes) -> bytes | None:
        for key, value in self.fields:
            if key == name:
                return value
        return None

    @property
    def has_body(self) -> bool:
        # RFC 9112 §6: Content-Length or Transfer-Encoding signals a body.
        return self.chunked or self.content_length > 0

    def _persists(self) -> bool:
        """Return whether the connection stays open after this request.

        RFC 9112 §9.3: not if `close` is among the connection options; in HTTP/1.0
        only if `keep-alive` is. Options are case-insensitive (RFC 9110 §7.6.1).
        """
        listed = b",".join(self.all(b"connection")).lower().split(b",")
        options = [option.strip(b" \t") for option in listed]
        if self.is_http_10 and b"keep-alive" not in options:
            return False
        return b"close" not in options

    def _is_plain(self) -> bool:
        """Return whether equal bytes always mean the same, without another look."""
        names = {name for name, _ in self.fields}
        connection = self.all(b"connection")
        persistent = all(value.lower() == b"keep-alive" for value in connection)
        return not self.is_http_10 and persistent and names.isdisjoint(_UNREPEATABLE)


def parse(data: bytes, max_fields: int) -> Head:
    """Return the head in `data`, which includes the blank line, or raise `Refused`."""
    line = _request_line(data)
    message = _parse_message(data, line)
    head = _validate(line[1], message)
    if len(message.fields) > max_fields:
        raise Refused(
            HEADERS_TOO_LARGE,
            f"The head has {len(message.fields)} header fields; "
            f"at most {max_fields} are accepted.",
        )
    return head


def open_chunked(data: bytes) -> Message:
    """Parse a head again, and return the message that its chunked body goes into."""
    return _parse_message(data, _request_line(data))


def check_beginning(window: bytes, checked: int = 0) -> None:
    """Refuse a head, finished or not, for a byte that no head may contain.

    That is a line feed or carriage return without the other (RFC 9112 §2.2), a control
    character (RFC 9110 §5.5), or a first byte that begins no method, as in a TLS
    handshake. The first `checked` bytes have been checked before.
    """
    if window != b"\r" and window[:1] not in _TOKEN_BYTES:
        raise Refused(
            MALFORMED_REQUEST, "The first byte does not begin an HTTP method."
        )
    # A line end may arrive in two pieces. Its carriage return is then checked twice:
    # once as the last byte, where it may be alone, and once with its line feed.
    new = window[checked - window.endswith(b"\r", 0, checked) :]
    line_ends, cut = new.count(b"\r\n"), new.endswith(b"\r")
    if new.count(b"\n") != line_ends or new.count(b"\r") - cut != line_ends:
        raise Refused(
            MALFORMED_REQUEST, "The head has a line that does not end with CRLF."
        )
    if _CONTROLS.search(new):
        raise Refused(MALFORMED_REQUEST, "The head contains a control character.")


def too_large(window: bytes, max_bytes: int) -> Refused:
    """Return the refusal for a head longer than the `max_bytes` in `window`."""
    line = _REQUEST_LINE.match(window)
    if not line:
        # RFC 9112 §3: 414 if a method is followed by a target that does not end.
        if b"\r\n" not in window and b" " in window:
            detail = f"The request line is longer than {max_bytes} bytes."
            return Refused(TARGET_TOO_LONG, detail)
        return Refused(MALFORMED_REQUEST, _NO_REQUEST_LINE)
    try:
        _run_parser(b"POST" + window[line.end(1) :])
    except HttpParserError:
        return Refused(MALFORMED_REQUEST, _INVALID_FIELD)
    return Refused(HEADERS_TOO_LARGE, f"The head is larger than {max_bytes} bytes.")


def _request_line(data: bytes) -> re.Match[bytes]:
    line = _REQUEST_LINE.match(data)
    if not line:
        raise Refused(MALFORMED_REQUEST, _NO_REQUEST_LINE)
    return line


def _parse_message(data: bytes, line: re.Match[bytes]) -> Message:
    """Run llhttp over a head, in spite of its table of methods and of upgrades.

    A method is any token (RFC 9110 §9.1), but llhttp rejects methods outside its
    table, so such a head is parsed again as a POST. A server may ignore Upgrade
    (RFC 9110 §7.8), but llhttp stops there and drops the body, so such a head is
    parsed again without that field.
    """
    try:
        return _run_parser(data)
    except HttpParserUpgrade:
        if line[1] == b"CONNECT":
            return _run_parser(b"OPTIONS *" + data[line.end(2) :])
        return _run_parser(_without_upgrade(data))
    except HttpParserError:
        try:
            return _run_parser(_without_upgrade(b"POST" + data[line.end(1) :]))
        except HttpParserError:
            raise Refused(MALFORMED_REQUEST, _INVALID_FIELD) from None


def _run_parser(data: bytes) -> Message:
    message = Message()
    message.parser.feed_data(data)
    return message


def _without_upgrade(data: bytes) -> bytes:
    lines = data.split(b"\r\n")
    kept = [line for line in lines if line[:8].lower() != b"upgrade:"]
    return b"\r\n".join(kept)


def _validate(method: bytes, message: Message) -> Head:
    is_http_10 = message.parser.get_http_version() == "1.0"
    target, authority = _split_target(method, message.url)
    head = Head(method, target, message.fields, is_http_10=is_http_10)
    _check_host(head, authority)
    _check_transfer_coding(head)
    return head


def _split_target(method: bytes, url: bytes) -> tuple[bytes, bytes | None]:
    """Return the path and the authority of a request target.

    RFC 9112 §3.2 has four forms: origin-form (§3.2.1), absolute-form, which a server
    must accept (§3.2.2), authority-form for CONNECT alone (§3.2.3), and asterisk-form
    for OPTIONS alone (§3.2.4).
    """
    if url.startswith(b"/") or method == b"CONNECT":
        return url, None
    if url == b"*":
        if method != b"OPTIONS":
            raise Refused(
                MALFORMED_REQUEST, "The target * is only valid with the method OPTIONS."
            )
        return url, None
    absolute = _ABSOLUTE_FORM.fullmatch(url)
    if not absolute:
        raise Refused(
            MALFORMED_REQUEST, "The target is neither a path nor an http address."
        )
    return absolute[2] or b"/", absolute[1]


def _check_host(head: Head, authority: bytes | None) -> None:
    """Refuse a head without exactly one valid Host (RFC 9112 §3.2).

    HTTP/1.0 may omit it. The authority of an absolute target replaces Host (§3.2.2),
    so it must be valid, too.
    """
    hosts = head.all(b"host")
    if len(hosts) > 1:
        raise Refused(MALFORMED_REQUEST, "The Host header appears more than once.")
    if not hosts and not head.is_http_10:
        raise Refused(MALFORMED_REQUEST, "The Host header is missing.")
    for host in [*hosts, *([authority] if authority is not None else [])]:
        if not _HOST.fullmatch(host):
            raise Refused(
                MALFORMED_REQUEST, "The Host header is not a valid host and port."
            )


def _check_transfer_coding(head: Head) -> None:
    """Refuse any Transfer-Encoding but chunked, and any at all in HTTP/1.0.

    RFC 9112 §6.1: a coding that we do not implement is 501; a message whose last
    coding is not chunked has no end (§6.3), and HTTP/1.0 has no transfer codings.
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
        raise Refused(
            MALFORMED_REQUEST, "The Transfer-Encoding must end with chunked, once."
        )
    raise Refused(
        UNSUPPORTED_TRANSFER_CODING,
        "The only accepted Transfer-Encoding is chunked.",
    )
