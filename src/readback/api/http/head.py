"""From the bytes of one request head to what they mean, or to why they mean nothing.

httptools (llhttp) knows the grammar; what it lets through and RFC 9112 does not is
refused here. The caller has already found the end of the head and bounded its size.
Nothing here knows about sockets, time or what the API serves.
"""

import re
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from readback.contract import MAX_HEAD_BYTES, MAX_HEAD_FIELDS

HEAD_END = b"\r\n\r\n"

# RFC 9110 §5.6.2: what a token, and so a method, is made of.
_TOKEN_BYTES = (
    b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) (\S+) HTTP/1\.[01]\r\n")
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)([^#]*)", re.IGNORECASE)
# uri-host [":" port] (RFC 9110 §7.2) without user information and without the comma,
# which would be two hosts that a proxy has joined.
_HOST = re.compile(
    rb"(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z\-._~%!$&'()*+;=]+)(?::[0-9]{0,5})?"
)
# A head that asks for any of these is never taken for a repetition of the last one.
_UNREPEATABLE = frozenset((b"expect", b"trailer", b"transfer-encoding", b"upgrade"))
# Framing may cost this much beside the text: one-byte chunks need five bytes each.
_CHUNK_OVERHEAD_PER_BYTE = 8

_NO_REQUEST_LINE = "The request line is not 'method target HTTP/1.1'."
_BAD_FIELD = "A header field or the framing is not valid."


class Malformed(Exception):
    """The request cannot be understood; its connection must be closed."""

    def __init__(self, detail: str, code: str = "malformed_request") -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code


class Head:
    """One request head, fully validated."""

    __slots__ = (
        "asked",
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
        # RFC 9110 §9.3.6: after CONNECT the connection would be a tunnel; not here.
        self.keep_alive = method != b"CONNECT" and self._persists()
        self.chunked = bool(self.all(b"transfer-encoding"))
        # llhttp has bounded the number, but not the zeros before it.
        length = (self.first(b"content-length") or b"").lstrip(b"0")
        self.content_length = int(length or b"0")
        # RFC 9110 §10.1.1: a 1.0 client does not understand 100 (Continue).
        expectation = (self.first(b"expect") or b"").lower()
        self.expects_continue = not is_http_10 and expectation == b"100-continue"
        # The answer to a HEAD ends with its head, which is not seen to again.
        self.repeatable = self.keep_alive and method != b"HEAD" and self._is_plain()
        # What the handler has made of it, so that it need not do so again.
        self.asked: Any = None

    def all(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.fields if key == name]

    def first(self, name: bytes) -> bytes | None:
        for key, value in self.fields:
            if key == name:
                return value
        return None

    @property
    def has_body(self) -> bool:
        return self.chunked or self.content_length > 0

    def _persists(self) -> bool:
        """Tell whether the connection goes on after this request (RFC 9112 §9.3)."""
        listed = b",".join(self.all(b"connection")).lower().split(b",")
        options = [option.strip(b" \t") for option in listed]
        if self.is_http_10 and b"keep-alive" not in options:
            return False
        return b"close" not in options

    def _is_plain(self) -> bool:
        names = {name for name, _ in self.fields}
        connection = self.all(b"connection")
        persistent = all(value.lower() == b"keep-alive" for value in connection)
        return not self.is_http_10 and persistent and names.isdisjoint(_UNREPEATABLE)


class Message:
    """What llhttp reports of one message: its head, then its chunked body if any."""

    def __init__(self) -> None:
        self.url = b""
        self.fields: list[tuple[bytes, bytes]] = []
        self.body = bytearray()
        self.complete = False
        self._in_head = True
        self._raw_size = 0
        self.parser = HttpRequestParser(self)

    # Called by httptools.

    def on_url(self, fragment: bytes) -> None:
        self.url += fragment

    def on_header(self, name: bytes, value: bytes) -> None:
        # RFC 9110 §6.5.1: trailers come here too, and must never pass for headers.
        if self._in_head:
            self.fields.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        self._in_head = False

    def on_body(self, fragment: bytes) -> None:
        self.body += fragment

    def on_message_complete(self) -> None:
        self.complete = True

    # Called by the connection.

    def feed_chunked(self, buffer: bytes | bytearray, start: int, limit: int) -> int:
        """Feed the chunked body from `start` on; give where it, or the buffer, ends.

        Stops early when the decoded body has passed `limit`.

        A message can only end at a line end, so lines are fed one by one: no byte of
        the next message ever reaches this parser. A carriage return at the very end
        is held back until its line feed is here.
        """
        while start < len(buffer) and not self.complete:
            line_end = buffer.find(b"\r\n", start)
            stop = line_end + 2 if line_end >= 0 else len(buffer)
            if line_end < 0 and buffer[-1] == 0x0D:
                stop -= 1
            if stop == start:
                break
            self._feed(bytes(buffer[start:stop]))
            start = stop
            if len(self.body) > limit:
                break
        return start

    def _feed(self, piece: bytes) -> None:
        self._raw_size += len(piece)
        try:
            self.parser.feed_data(piece)
        except HttpParserError:
            raise Malformed("The chunked body is not well formed.") from None
        allowed = MAX_HEAD_BYTES + _CHUNK_OVERHEAD_PER_BYTE * len(self.body)
        if self._raw_size > allowed + len(self.body):
            raise Malformed("The chunk extensions or trailers are too large.")


def check_begun(window: bytes, seen: int) -> None:
    """Refuse a head, finished or not, for a byte that none may have.

    That is a line feed or carriage return that stands alone, a control character
    (RFC 9112 §2.2, RFC 9110 §5.5), or a first byte that begins no method (a TLS
    hello, for one). The first `seen` bytes have been checked before.
    """
    if window != b"\r" and window[:1] not in _TOKEN_BYTES:
        raise Malformed("The first byte begins no method.")
    # A line end may be cut in two: its first half is looked at twice, and may stand
    # alone at the very end.
    new = window[seen - window.endswith(b"\r", 0, seen) :]
    line_ends, cut = new.count(b"\r\n"), new.endswith(b"\r")
    if new.count(b"\n") != line_ends or new.count(b"\r") - cut != line_ends:
        raise Malformed("The head has a line that does not end in CRLF.")
    if _CONTROLS.search(new):
        raise Malformed("The head has a control character.")


def open_chunked(data: bytes) -> Message:
    """Read a head once more, to go on with the chunked body behind it."""
    return _understand(data, _request_line(data))


def parse(data: bytes) -> Head:
    """Read a whole head, blank line included, or raise `Malformed`."""
    line = _request_line(data)
    message = _understand(data, line)
    head = _judge(line[1], message)
    if len(message.fields) > MAX_HEAD_FIELDS:
        raise Malformed(
            f"The head has {len(message.fields)} fields, "
            f"and at most {MAX_HEAD_FIELDS} are taken.",
            "headers_too_large",
        )
    return head


def _request_line(data: bytes) -> re.Match[bytes]:
    line = _REQUEST_LINE.match(data)
    if not line:
        raise Malformed(_NO_REQUEST_LINE)
    return line


def too_large(window: bytes) -> Malformed:
    """Say what is wrong with a head that goes on beyond the first bytes allowed."""
    line = _REQUEST_LINE.match(window)
    if not line:
        # RFC 9112 §3: it is the target that is too long, if a method stands before it.
        if b"\r\n" not in window and b" " in window:
            detail = f"The request line is longer than {MAX_HEAD_BYTES} bytes."
            return Malformed(detail, "target_too_long")
        return Malformed(_NO_REQUEST_LINE)
    try:
        _run(b"POST" + window[line.end(1) :])
    except HttpParserError:
        return Malformed(_BAD_FIELD)
    return Malformed(
        f"The head is larger than {MAX_HEAD_BYTES} bytes.", "headers_too_large"
    )


def _understand(data: bytes, line: re.Match[bytes]) -> Message:
    """Run llhttp over the head, past its fixed table of methods and its upgrades.

    Methods are any token (RFC 9110 §9.1), and an unknown one is our 404; llhttp
    refuses those outside its table, so the head is read again as a POST. An Upgrade
    may always be ignored (RFC 9110 §7.8), but llhttp stops there and drops the body,
    so the head is read again without that field.
    """
    try:
        return _run(data)
    except HttpParserUpgrade:
        if line[1] == b"CONNECT":
            return _run(b"OPTIONS *" + data[line.end(2) :])
        return _run(_without_upgrade(data))
    except HttpParserError:
        try:
            return _run(_without_upgrade(b"POST" + data[line.end(1) :]))
        except HttpParserError:
            raise Malformed(_BAD_FIELD) from None


def _run(data: bytes) -> Message:
    message = Message()
    message.parser.feed_data(data)
    return message


def _without_upgrade(data: bytes) -> bytes:
    lines = data.split(b"\r\n")
    kept = [line for line in lines if line[:8].lower() != b"upgrade:"]
    return b"\r\n".join(kept)


def _judge(method: bytes, message: Message) -> Head:
    is_http_10 = message.parser.get_http_version() == "1.0"
    target, authority = _target(method, message.url)
    head = Head(method, target, message.fields, is_http_10=is_http_10)
    _check_host(head, authority)
    _check_transfer_coding(head)
    return head


def _target(method: bytes, url: bytes) -> tuple[bytes, bytes | None]:
    """Split a target into path and authority by its form (RFC 9112 §3.2)."""
    if url.startswith(b"/") or method == b"CONNECT":
        return url, None
    if url == b"*":
        if method != b"OPTIONS":
            raise Malformed("The target * goes with OPTIONS only.")
        return url, None
    absolute = _ABSOLUTE.fullmatch(url)
    if not absolute:
        raise Malformed("The target is neither a path nor an http address.")
    return absolute[2] or b"/", absolute[1]


def _check_host(head: Head, authority: bytes | None) -> None:
    """Check Host: exactly one in HTTP/1.1, and valid (RFC 9112 §3.2)."""
    hosts = head.all(b"host")
    if len(hosts) > 1:
        raise Malformed("There is more than one Host header.")
    if not hosts and not head.is_http_10:
        raise Malformed("The Host header is missing.")
    # RFC 9112 §3.2.2: the authority of an absolute target wins over Host.
    for host in [*hosts, *([authority] if authority is not None else [])]:
        if not _HOST.fullmatch(host):
            raise Malformed("The Host is not a valid host and port.")


def _check_transfer_coding(head: Head) -> None:
    """Check Transfer-Encoding: chunked alone, and in HTTP/1.1 only (RFC 9112 §6.1)."""
    values = head.all(b"transfer-encoding")
    if not values:
        return
    if head.is_http_10:
        raise Malformed("HTTP/1.0 has no Transfer-Encoding.")
    codings = [part.strip().lower() for part in b",".join(values).split(b",")]
    if codings == [b"chunked"]:
        return
    if b"" in codings or codings.count(b"chunked") != 1 or codings[-1] != b"chunked":
        raise Malformed("The Transfer-Encoding does not end in chunked, once.")
    raise Malformed(
        "Only chunked is taken as Transfer-Encoding.", "unsupported_transfer_coding"
    )
