"""Servers that fail below HTTP: a port that drops all packets, and scripted sockets."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

Behavior = Callable[[socket.socket], None]


@contextmanager
def black_hole() -> Iterator[int]:
    """Yield a port that drops every packet, because its backlog is full."""
    with ExitStack() as stack, socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        while True:
            filler = stack.enter_context(socket.socket())
            filler.settimeout(0.2)
            try:
                filler.connect(server.getsockname())
            except TimeoutError:
                break
        yield server.getsockname()[1]


@contextmanager
def socket_server(behave: Behavior) -> Iterator[int]:
    """Accept connections and call `behave` once for each; yield the port."""
    stopping = threading.Event()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        thread = threading.Thread(target=_accept, args=(server, behave, stopping))
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            stopping.set()
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(server: socket.socket, behave: Behavior, stopping: threading.Event) -> None:
    with ExitStack() as stack:
        while not stopping.is_set():
            try:
                client = stack.enter_context(server.accept()[0])
            except OSError:
                return
            with suppress(OSError):
                behave(client)


def stay_silent(client: socket.socket) -> None:
    """Keep the connection open and send nothing until the server stops."""


def greet(client: socket.socket) -> None:
    """Send a greeting first, as SMTP and SSH servers do."""
    client.sendall(b"220 mail.example ready\r\n")
    client.recv(65536)
    client.close()
