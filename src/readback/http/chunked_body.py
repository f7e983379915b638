"""Decode a chunked body, strictly by the grammar of RFC 9112 §7.1.

    chunked-body = *chunk last-chunk trailer-section CRLF
    chunk        = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
    last-chunk   = 1*"0" [ chunk-ext ] CRLF

llhttp does not decode chunks here, because it refuses white space that §7.1.1 allows in
extensions, and limits neither extensions nor trailers. Both are validated and
discarded; a trailer never becomes a header (RFC 9110 §6.5.1).

A line is only judged once it is complete, so the result does not depend on how the body
was split into packets.
"""

import re

from readback.http.head import MALFORMED_REQUEST, REQUEST_TOO_LARGE, Refused

# Counts chunks and trailer fields together. A line costs as much as hundreds of bytes:
# decoding 32,768 one-byte chunks took 0.13 s, and decoding this many takes 2 ms.
_MAX_CHUNKS = 512
# The last chunk and the blank line count as lines, too.
_MAX_LINES = _MAX_CHUNKS + 2
_LINE_END = b"\r\n"
_HEXADECIMAL = b"0123456789ABCDEFabcdef"

# RFC 9110 §5.6.2 and §5.6.4. Repeated characters are matched possessively, so matching
# takes linear time. Repeated groups are not, because possessive groups are broken in
# Python before 3.11.5.
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++"
_TEXT = rb"[\t !\x23-\x5b\x5d-\x7e\x80-\xff]*+"
_QUOTED = rb'"%b(?:\\[\t -\x7e\x80-\xff]%b)*"' % (_TEXT, _TEXT)
# RFC 9112 §7.1.1 allows "bad" white space around ; and =, but not before the CRLF.
_EXTENSION = rb"[ \t]*+;[ \t]*+%b(?:[ \t]*+=[ \t]*+(?:%b|%b))?" % (
    _TOKEN,
    _TOKEN,
    _QUOTED,
)
# The group is the size without leading zeros; it is missing in the last chunk. At most
# 64 bits are accepted, because other software might truncate a longer size.
_SIZE_LINE = re.compile(
    rb"(?=[0-9A-Fa-f])0*+([1-9A-Fa-f][0-9A-Fa-f]{0,15}+)?(?:%b)*\r\n" % _EXTENSION
)
# RFC 9110 §6.5.1: a trailer must not contain fields that frame the message.
_TRAILER_LINE = re.compile(
    rb"(?:(?!(?:content-length|transfer-encoding):)%b:[\t -\x7e\x80-\xff]*+)?\r\n"
    % _TOKEN,
    re.IGNORECASE,
)


class ChunkedBody:
    """A chunked body, while it arrives."""

    def __init__(self, max_framing: int) -> None:
        self.body = bytearray()
        self._size = 0  # where the current chunk ends in the body
        self.complete = False
        self._in_chunk = False
        self._in_trailers = False
        self._max_framing = max_framing
        self._framing_bytes = self._lines = 0
        # How much of an unfinished line has been searched; the line may arrive in
        # thousands of packets.
        self._looked_at = 0

    def read(self, buffer: bytes | bytearray, start: int, max_body: int) -> int:
        """Decode `buffer[start:]`; return where the remaining bytes begin."""
        while not self.complete:
            if self._in_chunk:
                end = self._read_data(buffer, start)
            elif self._in_trailers:
                end = self._read_trailer(buffer, start)
            else:
                end = self._read_size(buffer, start, max_body)
            if end == start:
                break
            start = end
        return start

    def _read_size(self, buffer: bytes | bytearray, start: int, max_body: int) -> int:
        # If a client does not use the chunk format at all, refuse its body at once.
        if buffer[start : start + 1] not in _HEXADECIMAL:
            raise _malformed()
        line = self._match(_SIZE_LINE, buffer, start)
        if line is None:
            return start
        if digits := line[1]:
            self._size += int(digits, 16)
            if self._size > max_body:
                raise oversized(max_body, "the chunked body is longer")
            self._in_chunk = True
        else:
            self._in_trailers = True
        return line.end()

    def _read_data(self, buffer: bytes | bytearray, start: int) -> int:
        if missing := self._size - len(self.body):
            data = buffer[start : start + missing]
            self.body += data
            start += len(data)
        if len(self.body) < self._size:
            return start
        line_end = buffer[start : start + 2]
        if line_end == _LINE_END:
            self._in_chunk = False
            return start + 2
        if not _LINE_END.startswith(line_end):
            raise _malformed()
        return start

    def _read_trailer(self, buffer: bytes | bytearray, start: int) -> int:
        line = self._match(_TRAILER_LINE, buffer, start)
        if line is None:
            return start
        self.complete = line[0] == _LINE_END
        return line.end()

    def _match(
        self, grammar: re.Pattern[bytes], buffer: bytes | bytearray, start: int
    ) -> re.Match[bytes] | None:
        """Match one line, or raise `Refused`; return None if its end is missing."""
        room = self._max_framing - self._framing_bytes
        line_feed = buffer.find(b"\n", start + self._looked_at, start + room)
        if line_feed < 0:
            self._looked_at = len(buffer) - start
            if self._looked_at >= room:
                raise _too_large("extensions or trailer fields that are too long")
            return None
        # RFC 9112 §2.2: a lone line feed does not end a line, and no line contains one.
        line = grammar.match(buffer, start)
        if line is None:
            raise _malformed()
        self._lines += 1
        if self._lines > _MAX_LINES:
            raise _too_large(f"more than {_MAX_CHUNKS} chunks or trailer fields")
        self._framing_bytes += line.end() - start
        self._looked_at = 0
        return line


def oversized(limit: int, got: str) -> Refused:
    detail = f"The body must have at most {limit} bytes; {got}."
    return Refused(REQUEST_TOO_LARGE, detail)


def _malformed() -> Refused:
    return Refused(MALFORMED_REQUEST, "The chunked body is not well formed.")


def _too_large(what: str) -> Refused:
    return Refused(MALFORMED_REQUEST, f"The chunked body has {what}.")
