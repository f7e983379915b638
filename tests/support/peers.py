"""Servers on this machine that answer every request with the same bytes, or never."""

import socket
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.waiting import PATIENCE

OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


@dataclass
class Peer:
    """Where it listens, and what it has received on each connection."""

    url: str
    requests: list[bytes] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def release(self) -> None:
        """Close the connections that hang."""
        self._ended.set()


def answer(body: bytes, *fields: bytes, status: bytes = b"200 OK") -> bytes:
    first = [b"HTTP/1.1 " + status, b"Connection: close"]
    length = b"Content-Length: %d" % len(body)
    return b"\r\n".join([*first, *fields, length, b"", body])


@contextmanager
def peer(
    *parts: bytes,
    hangs: bool = False,
    host: str = "127.0.0.1",
    path: Path | None = None,
    tls: ssl.SSLContext | None = None,
) -> Iterator[Peer]:
    """Answer with the parts; then close, or hang until the end of the context."""
    with _listener(host, path) as listener:
        scheme = "https" if tls else "http"
        name = f"[{host}]" if ":" in host else host
        port = 0 if path else listener.getsockname()[1]
        peer = Peer(f"{scheme}://{name}:{port}/v1")

        def serve(connection: socket.socket) -> None:
            # The client may close at any moment.
            with suppress(OSError), connection:
                connection.settimeout(PATIENCE)
                with tls.wrap_socket(connection, True) if tls else connection as secure:
                    peer.requests.append(_read_request(secure))
                    _send(secure, parts)
                    if hangs:
                        peer._ended.wait(PATIENCE)

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield peer
        finally:
            peer.release()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE)


def _listener(host: str, path: Path | None) -> socket.socket:
    if path is None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, 0), family=family)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


def _read_request(connection: socket.socket) -> bytes:
    """Return the request with its body, or the first bytes if they are no HTTP."""
    data, length = b"", 0
    while b"\r\n\r\n" not in data or len(data.split(b"\r\n\r\n", 1)[1]) < length:
        part = connection.recv(65_536)
        data += part
        if not part or not data.startswith(b"P"):  # POST
            break
        for line in data.split(b"\r\n\r\n", 1)[0].split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
    return data


def _send(connection: socket.socket, parts: Iterable[bytes]) -> None:
    for part in parts:
        connection.sendall(part)
