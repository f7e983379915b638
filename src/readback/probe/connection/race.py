"""Connects to the first of several addresses that accepts (RFC 8305).

An address that does not respond, such as broken IPv6, delays the next one by a moment,
not by a whole timeout.
"""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections.abc import Sequence
from errno import EINPROGRESS, EWOULDBLOCK

# RFC 8305 §5: how long to wait before the next address is tried beside the first.
_STAGGER_SECONDS = 0.25


def connect(addresses: Sequence[str], port: int, timeout: float) -> socket.socket:
    """Return the first connection; raise the first error if no address accepts."""
    with selectors.DefaultSelector() as selector:
        race = _Race(selector, port, time.monotonic() + timeout)
        try:
            sock = race.run(list(addresses))
        finally:
            race.close()
    sock.settimeout(timeout)
    # http.client writes head and body separately; the second must not wait for an ACK.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


class _Race:
    """The attempts that are under way, and the errors of those that have failed."""

    def __init__(
        self, selector: selectors.BaseSelector, port: int, deadline: float
    ) -> None:
        self._selector = selector
        self._port = port
        self._deadline = deadline
        self._running: set[socket.socket] = set()
        self._errors: list[OSError] = []

    def run(self, addresses: list[str]) -> socket.socket:
        while addresses or self._running:
            if addresses:
                self._start(addresses.pop(0))
            left = self._deadline - time.monotonic()
            if left <= 0:
                self._errors.append(socket.timeout("timed out"))
                break
            winner = self._wait(min(left, _STAGGER_SECONDS) if addresses else left)
            if winner is not None:
                return winner
        raise self._errors[0]

    def close(self) -> None:
        for sock in self._running:
            sock.close()

    def _start(self, address: str) -> None:
        try:
            rows = socket.getaddrinfo(address, self._port, type=socket.SOCK_STREAM)
            family, kind, protocol, _, target = rows[0]
            sock = socket.socket(family, kind, protocol)
        except OSError as error:
            self._errors.append(error)
            return
        sock.setblocking(False)
        self._running.add(sock)
        code = sock.connect_ex(target)
        if code in (0, EINPROGRESS, EWOULDBLOCK):
            self._selector.register(sock, selectors.EVENT_WRITE)
        else:
            self._drop(sock, code)

    def _wait(self, seconds: float) -> socket.socket | None:
        """Return the first socket that connects within this time, if there is one."""
        if not self._running:
            return None
        for key, _ in self._selector.select(seconds):
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            self._selector.unregister(sock)
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if not code:
                self._running.remove(sock)
                return sock
            self._drop(sock, code)
        return None

    def _drop(self, sock: socket.socket, code: int) -> None:
        self._running.remove(sock)
        sock.close()
        self._errors.append(OSError(code, os.strerror(code)))
