"""A socket that gives up at one moment, however slowly the bytes arrive.

The timeout of an ordinary socket starts again with every byte, so a peer that sends one
byte now and then could keep a program waiting without end.
"""

from __future__ import annotations

import io
import socket
import time


class DeadlineSocket:
    """The part of a socket that `http.client` and the talk with a proxy use."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._socket = sock
        self._deadline = deadline
        self.received = 0
        """The number of bytes so far, before encryption."""

    def sendall(self, data: bytes) -> None:
        self._limit()
        self._socket.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def recv(self, size: int) -> bytes:
        self._limit()
        return self._socket.recv(size)

    def recv_into(self, buffer: memoryview) -> int:
        self._limit()
        count = self._socket.recv_into(buffer)
        self.received += count
        return count

    def close(self) -> None:
        """Leave the socket open: the client decides whether it is used again."""

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
