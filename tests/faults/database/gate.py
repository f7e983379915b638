"""A TCP proxy to a unix socket that can drop all bytes, like a broken network."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer

from tests.support.peers import serving


class Gate(ThreadingTCPServer):
    """Forwards bytes while it is open, and silently drops them while it is shut."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.port = self.server_address[1]
        self.target = target
        self.sockets: set[socket.socket] = set()
        self.is_open = True
        self._last_requests: list[bytes] = []

    def shut(self) -> None:
        self.is_open = False

    def shut_after(self, *requests: bytes) -> None:
        """Shut the gate once these bytes have been seen, in this order.

        The last request is still sent, but its answer is dropped. The earlier ones
        identify its transaction.
        """
        self._last_requests = list(requests)

    def open(self) -> None:
        """Forward bytes again, and close all connections, which may have lost bytes."""
        self.is_open = True
        for each in tuple(self.sockets):
            _end(each)

    def pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        """Forward bytes in one direction; at its end, also end the other direction."""
        with suppress(OSError):
            while data := source.recv(65536):
                if not self.is_open:
                    continue
                if self._last_requests and self._last_requests[0] in data:
                    del self._last_requests[0]
                    # Shut before the request is sent, so that no answer gets through.
                    self.is_open = bool(self._last_requests)
                sink.sendall(data)
        _end(sink)


class _Passing(BaseRequestHandler):
    server: Gate

    def handle(self) -> None:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as there:
            there.connect(self.server.target)
            ends = {self.request, there}
            self.server.sockets |= ends
            with ThreadPoolExecutor(2) as both:
                both.submit(self.server.pass_on, self.request, there)
                both.submit(self.server.pass_on, there, self.request)
            self.server.sockets -= ends


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def gate(target: str) -> Iterator[Gate]:
    """Listen on a free port of 127.0.0.1, and forward to a unix socket."""
    made = Gate(target)
    with serving(made):
        yield made
