"""Servers, and a socket in memory, that send the same bytes whatever they receive."""

import io
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from socketserver import BaseRequestHandler, BaseServer, ThreadingTCPServer

from tests.support.waiting import PATIENCE

OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


@dataclass
class Peer:
    """A peer's URL, and what it received on each connection."""

    url: str
    requests: list[bytes] = field(default_factory=list)


def answer(body: bytes, *fields: bytes, status: bytes = b"200 OK") -> bytes:
    first = [b"HTTP/1.1 " + status, b"Connection: close"]
    length = b"Content-Length: %d" % len(body)
    return b"\r\n".join([*first, *fields, length, b"", body])


@contextmanager
def peer(*parts: bytes, tls: ssl.SSLContext | None = None) -> Iterator[Peer]:
    """Answer with the parts, then close."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(PATIENCE)
            with suppress(OSError):  # the client may close at any moment
                raw = self.request
                with tls.wrap_socket(raw, True) if tls else raw as connection:
                    made.requests.append(_read_request(connection))
                    for part in parts:
                        connection.sendall(part)

    server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
    scheme = "https" if tls else "http"
    made = Peer(f"{scheme}://127.0.0.1:{server.server_address[1]}/v1")
    with serving(server):
        yield made


@contextmanager
def serving(server: BaseServer) -> Iterator[None]:
    """Run the server in a thread; stop and close it at the end."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _read_request(connection: socket.socket) -> bytes:
    """Return a POST with its body; of anything else, return the first bytes."""
    data = b""
    length = 0
    while b"\r\n\r\n" not in data or len(data.split(b"\r\n\r\n", 1)[1]) < length:
        part = connection.recv(65_536)
        data += part
        if not part or not data.startswith(b"P"):  # not a POST
            break
        for line in data.split(b"\r\n\r\n", 1)[0].split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
    return data


class StoredPeer(io.BytesIO):
    """The methods of a socket that the probe uses. Reads return stored bytes."""

    def recv_into(self, buffer: memoryview) -> int:
        return self.readinto(buffer)

    def recv(self, size: int) -> bytes:
        return self.read(size)

    def sendall(self, data: bytes) -> None: ...

    def settimeout(self, seconds: float) -> None: ...

    def getpeername(self) -> tuple[str, int]:
        return "127.0.0.1", 80

    def getsockopt(self, *_: int) -> bytes:
        raise OSError

    def close(self) -> None: ...
