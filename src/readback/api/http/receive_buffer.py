"""Bytes that were received and not read yet, and how to take parts of a message.

Finds the end of a head and bounds its size; what a head means is decided in `head.py`.
"""

import re

from readback.api.http.head import HEAD_END, check_beginning, too_large
from readback.api.http.message import Message

# RFC 9112 §2.2: ignore empty lines before a request line. One match skips all of them;
# for a read of 256 KiB it needs 2 ms, where a loop in Python needs 70 ms. It is
# possessive, because remembering each repetition would need 8 MB.
_EMPTY_LINES = re.compile(rb"(?:\r\n)++")
# Bytes that have been read are dropped only when there are this many: copying the rest
# after each of many small messages would cost the square of their number.
_DROP_BYTES = 65_536


class ReceiveBuffer:
    """The unread bytes of one connection."""

    __slots__ = ("_data", "_offset", "head_checked", "unread")

    def __init__(self) -> None:
        self._data: bytes | bytearray = b""
        self._offset = 0  # where the unread bytes begin
        self.unread = 0
        self.head_checked = 0  # bytes of an unfinished head that have been checked

    def append(self, data: bytes) -> None:
        if not self.unread:
            self._data, self._offset = data, 0
        else:
            if not isinstance(self._data, bytearray):
                self._data = bytearray(self._data)
            self._data += data
        self.unread += len(data)

    def drop_read(self) -> None:
        """Free the memory of what has been read."""
        if not self.unread:
            self._data, self._offset = b"", 0
        elif self._offset > _DROP_BYTES:
            self._data = self._data[self._offset :]
            self._offset = 0

    def clear(self) -> None:
        self._data, self._offset, self.unread = b"", 0, 0

    def take_head(self, limit: int) -> bytes | None:
        """Return a whole head with its blank line; None if it is not complete.

        Raise `Refused` if it is longer than the limit, or if it cannot become valid.
        """
        if empty_lines := _EMPTY_LINES.match(self._data, self._offset):
            self._advance(empty_lines.end() - self._offset)
            self.head_checked = 0
        blank_line = self._data.find(HEAD_END, self._offset)
        size = blank_line + len(HEAD_END) - self._offset
        if blank_line < 0 or size > limit:
            self._check_unfinished(limit)
            return None
        self.head_checked = 0
        return self.take(size)

    def take(self, size: int) -> bytes | None:
        """Return the next bytes, or None if there are not enough."""
        if self.unread < size:
            return None
        start = self._offset
        self._offset = end = start + size
        self.unread -= size
        return bytes(self._data[start:end])

    def skip(self, size: int) -> int:
        """Drop at most this many bytes, and return how many were there."""
        step = min(size, self.unread)
        self._advance(step)
        return step

    def feed_chunks(self, message: Message, limit: int) -> None:
        """Feed the chunked body of a message as far as it is here."""
        end = message.feed_chunked(self._data, self._offset, limit)
        self._advance(end - self._offset)

    def _advance(self, size: int) -> None:
        self._offset += size
        self.unread -= size

    def _check_unfinished(self, limit: int) -> None:
        """Refuse a head that cannot become valid, without waiting for its end."""
        window = bytes(self._data[self._offset : self._offset + limit])
        if not window:
            return
        check_beginning(window, self.head_checked)
        if self.unread > limit:
            raise too_large(window, limit)
        self.head_checked = len(window)
