"""One message as llhttp reports it: its head, and its body if that is chunked.

The callbacks of httptools live here, and the bounds on a chunked body that llhttp does
not have. What a head means is decided in `head.py`.
"""

from httptools import HttpParserError, HttpRequestParser

from readback.api.http.refused import MALFORMED_REQUEST, Refused

# Chunk sizes, extensions and trailers are not part of the body, and llhttp lets them
# grow without end. This much is allowed in any case …
_FRAMING_BYTES = 16_384
# … and this much per byte of the body: a chunk of one byte needs five bytes of framing.
_FRAMING_PER_BODY_BYTE = 8
_CARRIAGE_RETURN = 0x0D


class Message:
    """A request that httptools is parsing."""

    def __init__(self) -> None:
        self.url = b""
        self.fields: list[tuple[bytes, bytes]] = []
        self.body = bytearray()
        self.complete = False
        self._in_head = True
        self._fed_bytes = 0
        self.parser = HttpRequestParser(self)

    # Called by httptools.

    def on_url(self, fragment: bytes) -> None:
        self.url += fragment

    def on_header(self, name: bytes, value: bytes) -> None:
        # RFC 9110 §6.5.1: trailers are reported here too, and must never be merged
        # into the headers.
        if self._in_head:
            # RFC 9112 §5: optional whitespace is not part of the value; llhttp keeps
            # the trailing one.
            self.fields.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        self._in_head = False

    def on_body(self, fragment: bytes) -> None:
        self.body += fragment

    def on_message_complete(self) -> None:
        self.complete = True

    # Called by the connection.

    def feed_chunked(self, buffer: bytes | bytearray, start: int, limit: int) -> int:
        """Feed the chunked body in `buffer[start:]`; return where the rest begins.

        Stop early when the decoded body is longer than `limit`.

        A message can only end at a line end, so the buffer is fed line by line: no byte
        of the next message ever reaches this parser. A carriage return at the very end
        waits until its line feed is here.
        """
        while start < len(buffer) and not self.complete:
            line_end = buffer.find(b"\r\n", start)
            stop = line_end + 2 if line_end >= 0 else len(buffer)
            if line_end < 0 and buffer[-1] == _CARRIAGE_RETURN:
                stop -= 1
            if stop == start:
                break
            self._feed(bytes(buffer[start:stop]))
            start = stop
            if len(self.body) > limit:
                break
        return start

    def _feed(self, line: bytes) -> None:
        self._fed_bytes += len(line)
        try:
            self.parser.feed_data(line)
        except HttpParserError:
            raise Refused(
                MALFORMED_REQUEST, "The chunked body is not well formed."
            ) from None
        framing_bytes = self._fed_bytes - len(self.body)
        if framing_bytes > _FRAMING_BYTES + _FRAMING_PER_BODY_BYTE * len(self.body):
            raise Refused(
                MALFORMED_REQUEST, "The chunk extensions or trailers are too large."
            )
