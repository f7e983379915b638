"""Received bytes that have not been read yet, and how to read messages from them.

Finds the end of a head and limits its size; `head.py` decides what a head means.
"""

from readback.http.chunked_body import ChunkedBody
from readback.http.head import (
    HEAD_END,
    MALFORMED_REQUEST,
    Refused,
    check_beginning,
    refuse_too_large,
)

# RFC 9112 §2.2: a server should ignore at least one empty line before the request line,
# because some clients send one after a body. No other limit applies to them.
MAX_EMPTY_LINES = 4
_LINE_END = b"\r\n"
_CARRIAGE_RETURN = 0x0D
_HEAD_END_SIZE = len(HEAD_END)


class ReceiveBuffer:
    def __init__(self) -> None:
        self._data: bytes | bytearray = b""
        self._offset = 0  # where the unread bytes begin
        self._head_start = 0  # where the latest head begins, complete or not
        self.unread = 0
        self.empty_lines = 0  # how many have been ignored before the next head
        self.head_checked = 0  # how many bytes of an unfinished head have been checked

    def append(self, data: bytes) -> None:
        if self.unread:
            # Append in place, because a message may arrive in thousands of packets.
            if self._offset or isinstance(self._data, bytes):
                self._data = bytearray(self._data[self._offset :])
            self._data += data
        else:
            self._data = data
        self._offset = 0
        self.unread = len(self._data)

    def drop_read(self) -> None:
        if not self.unread:
            self._data = b""
            self._offset = 0

    def clear(self) -> None:
        self._data = b""
        self._offset = 0
        self.unread = 0

    def take_head(self, limit: int) -> bytes | None:
        """Return a complete head with its blank line, or None if it is incomplete.

        Raise `Refused` if it is longer than the limit, or if it can no longer become
        valid.
        """
        data = self._data
        self._head_start = start = self._offset
        if data[start] == _CARRIAGE_RETURN:
            self._skip_empty_lines()
            self._head_start = start = self._offset
        seen = start
        if self.head_checked:
            # The checked bytes contain at most the beginning of the blank line.
            seen += max(0, self.head_checked - _HEAD_END_SIZE + 1)
        blank_line = data.find(HEAD_END, seen, start + limit)
        if blank_line < 0:
            self._check_unfinished(limit)
            return None
        self.head_checked = 0
        self.empty_lines = 0
        self._offset = end = blank_line + _HEAD_END_SIZE
        self.unread = len(data) - end
        return bytes(data[start:end])

    def head_begins_with(self, prefix: bytes) -> bool:
        """Return whether the latest head, complete or not, begins with this prefix."""
        return self._data.startswith(prefix, self._head_start)

    def take(self, size: int) -> bytes | None:
        """Return this many bytes, or None if fewer have arrived."""
        if self.unread < size:
            return None
        self.unread -= size
        start = self._offset
        self._offset = start + size
        return bytes(self._data[start : start + size])

    def skip(self, size: int) -> int:
        """Drop at most this many bytes; return how many were dropped."""
        step = min(size, self.unread)
        self._advance(step)
        return step

    def take_chunks(self, chunks: ChunkedBody, max_body: int) -> bytes | None:
        """Decode the received part of a chunked body; return the body once complete."""
        end = chunks.read(self._data, self._offset, max_body)
        self._advance(end - self._offset)
        return bytes(chunks.body) if chunks.complete else None

    def _advance(self, size: int) -> None:
        self._offset += size
        self.unread -= size

    def _skip_empty_lines(self) -> None:
        while self._data.startswith(_LINE_END, self._offset):
            self.empty_lines += 1
            if self.empty_lines > MAX_EMPTY_LINES:
                detail = f"More than {MAX_EMPTY_LINES} empty lines precede the request."
                raise Refused(MALFORMED_REQUEST, detail)
            self._advance(len(_LINE_END))

    def _check_unfinished(self, limit: int) -> None:
        """Refuse a head that can no longer become valid, before it is complete."""
        start = self._offset
        checked = self.head_checked
        # Check only the new bytes, because a head may arrive in thousands of packets. A
        # carriage return is checked again together with the byte after it.
        begin = start + checked
        if checked and self._data[begin - 1] == _CARRIAGE_RETURN:
            begin -= 1
        new = bytes(self._data[begin : start + limit])
        if not checked and new in (b"", b"\r"):
            return  # possibly half of another empty line
        check_beginning(new, is_start=not checked)
        if self.unread > limit:
            refuse_too_large(bytes(self._data[start : start + limit]), limit)
        self.head_checked = self.unread
