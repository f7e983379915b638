"""Servers below HTTP: ports that are closed, swallow everything, or say odd things."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

Behaviour = Callable[[socket.socket], None]


def closed_port() -> int:
    """Give a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


@contextmanager
def black_hole() -> Iterator[int]:
    """Give a port that drops every packet: its queue is full, and nobody empties it."""
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
def behaving(behave: Behaviour) -> Iterator[int]:
    """Accept connections, and do one thing with each before it is closed."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        thread = threading.Thread(target=_accept, args=(server, behave, over))
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            over.set()
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(server: socket.socket, behave: Behaviour, over: threading.Event) -> None:
    with ExitStack() as stack:
        while not over.is_set():
            try:
                client = stack.enter_context(server.accept()[0])
            except OSError:
                return
            with suppress(OSError):
                behave(client)


def silence(client: socket.socket) -> None:
    """Keep the connection open and say nothing, until the server ends."""


def cut(client: socket.socket) -> None:
    client.recv(65536)
    client.close()


def hello(client: socket.socket) -> None:
    """Speak first, as mail and remote shells do."""
    client.sendall(b"220 mail.example ready\r\n")
    client.recv(65536)
    client.close()


def half_an_answer(client: socket.socket) -> None:
    client.recv(65536)
    client.sendall(_HALF)
    client.close()


def stuck_answer(client: socket.socket) -> None:
    client.recv(65536)
    client.sendall(_HALF)


_HALF = b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"error":'
