"""A socket that gives up at one moment, however slowly the bytes arrive.

The timeout of an ordinary socket starts again with every byte, so a peer that sends one
byte now and then could keep a program waiting without end.
"""

from __future__ import annotations

import io
import select
import socket
import ssl
import time

_TICK_SECONDS = 0.005


class DeadlineSocket:
    """The part of a socket that `http.client` and the talk with a proxy use."""

    def __init__(
        self, sock: socket.socket, deadline: float, *, notes_silence: bool = False
    ) -> None:
        self._socket = sock
        self._deadline = deadline
        self._notes_silence = notes_silence
        self.received = 0
        """The number of bytes so far, before encryption."""
        self.silent_until = time.monotonic()
        """The moment before which the last of these bytes had not yet arrived.

        A program that is held up reads later what arrived long ago, so the moment of
        reading would tell more about this machine than about the other side.
        """

    def sendall(self, data: bytes) -> None:
        self._limit()
        self._socket.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def recv(self, size: int) -> bytes:
        self._limit()
        return self._socket.recv(size)

    def recv_into(self, buffer: memoryview) -> int:
        if self._notes_silence:
            self._note_silence()
        self._limit()
        count = self._socket.recv_into(buffer)
        self.received += count
        return count

    def close(self) -> None:
        """Leave the socket open: the client decides whether it is used again."""

    def _note_silence(self) -> None:
        while (now := time.monotonic()) < self._deadline and not self._has_data(0):
            self.silent_until = now
            if self._has_data(_TICK_SECONDS):
                return

    def _has_data(self, seconds: float) -> bool:
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        return bool(select.select([self._socket], [], [], seconds)[0])

    def _limit(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        self._socket.settimeout(left)


class _Reader(io.RawIOBase):
    def __init__(self, sock: DeadlineSocket) -> None:
        self._socket = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._socket.recv_into(buffer)
