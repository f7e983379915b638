"""A working SOCKS proxy on loopback: version 5, with or without a login."""

import ipaddress
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer

from tests.probe.gateway import copy_both_ways, running


class SocksProxy(ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, login: tuple[str, str] | None, reply: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.login = login
        self.reply = reply
        """The reply to every request; with 0, the proxy connects to the target."""
        self.targets: list[str] = []
        """The hosts as the clients named them."""

    def handle_error(self, request, client_address) -> None:
        """Do not log: in these tests, clients close connections on purpose."""


class _Handler(BaseRequestHandler):
    request: socket.socket
    server: SocksProxy

    def handle(self) -> None:
        self._read(1)  # the version
        target = self._greet()
        if target is None:
            return
        self.server.targets.append(target[0])
        if self.server.reply:
            self._answer(self.server.reply)
            return
        with socket.create_connection(target) as upstream:
            self._answer(0)
            copy_both_ways(self.request, upstream)

    def _greet(self) -> tuple[str, int] | None:
        methods = self._read(self._read(1)[0])
        wanted = 2 if self.server.login else 0
        if wanted not in methods:
            self.request.sendall(b"\x05\xff")
            return None
        self.request.sendall(bytes([5, wanted]))
        if self.server.login and not self._log_in(self.server.login):
            return None
        kind = self._read(4)[3]
        if kind == 3:
            host = self._read(self._read(1)[0]).decode()
        else:
            host = _text(self._read(4 if kind == 1 else 16))
        return host, struct.unpack("!H", self._read(2))[0]

    def _log_in(self, login: tuple[str, str]) -> bool:
        self._read(1)
        given = tuple(self._read(self._read(1)[0]).decode() for _ in range(2))
        self.request.sendall(bytes([1, given != login]))
        return given == login

    def _answer(self, reply: int) -> None:
        self.request.sendall(bytes([5, reply, 0, 3, 4]) + b"here" + b"\0\0")

    def _read(self, size: int) -> bytes:
        data = self.request.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise ConnectionResetError
        return data


def _text(address: bytes | int) -> str:
    return str(ipaddress.ip_address(address))


@contextmanager
def socks_proxy(
    login: tuple[str, str] | None = None, reply: int = 0
) -> Iterator[SocksProxy]:
    server = SocksProxy(login, reply)
    with running(server):
        yield server
