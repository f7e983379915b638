"""A working SOCKS proxy on loopback: versions 5, 4 and 4a, with or without a login."""

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
        """The code that refuses every connection; 0 connects to the target."""
        self.targets: list[str] = []
        """The hosts as the clients have named them, with the version before them."""

    def handle_error(self, request, client_address) -> None:
        """Do not log: in these tests, clients close connections on purpose."""


class _Handler(BaseRequestHandler):
    request: socket.socket
    server: SocksProxy

    def handle(self) -> None:
        version = self._read(1)[0]
        target = self._greet_5() if version == 5 else self._greet_4()
        if target is None:
            return
        self.server.targets.append(f"{version} {target[0]}")
        if self.server.reply:
            self._answer(version, self.server.reply)
            return
        with socket.create_connection(target) as upstream:
            self._answer(version, 0)
            copy_both_ways(self.request, upstream)

    def _greet_5(self) -> tuple[str, int] | None:
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

    def _greet_4(self) -> tuple[str, int]:
        _, port, number = struct.unpack("!BHI", self._read(7))
        self._read_text()
        host = (
            self._read_text() if 0 < number < 256 else str(ipaddress.ip_address(number))
        )
        return host, port

    def _answer(self, version: int, reply: int) -> None:
        if version == 5:
            self.request.sendall(bytes([5, reply, 0, 3, 4]) + b"here" + b"\0\0")
        else:
            self.request.sendall(bytes([0, reply or 0x5A]) + bytes(6))

    def _read(self, size: int) -> bytes:
        data = self.request.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise ConnectionResetError
        return data

    def _read_text(self) -> str:
        text = b""
        while (byte := self._read(1)) != b"\0":
            text += byte
        return text.decode()


def _text(address: bytes | int) -> str:
    return str(ipaddress.ip_address(address))


@contextmanager
def socks_proxy(
    login: tuple[str, str] | None = None, reply: int = 0
) -> Iterator[SocksProxy]:
    server = SocksProxy(login, reply)
    with running(server):
        yield server
