"""A TCP balancer that takes its backends in turn, whatever they are."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from socketserver import BaseRequestHandler, ThreadingTCPServer

from tests.probe.relay import running


class Balancer(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, backends: list[int | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._backends = cycle(backends)

    def process_request(self, request, client_address) -> None:
        request.backend = next(self._backends)  # In the order of the connections.
        super().process_request(request, client_address)

    def get_request(self):
        accepted, address = super().get_request()
        return _Socket(fileno=accepted.detach()), address

    def handle_error(self, request, client_address) -> None:
        """Do not log: in these tests, connections end in unusual ways."""


class _Socket(socket.socket):
    backend: int | None = None


class _Handler(BaseRequestHandler):
    def handle(self) -> None:
        if self.request.backend is None:
            no_time = struct.pack("ii", 1, 0)
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_time)
            self.request.close()
            return
        with socket.create_connection(("127.0.0.1", self.request.backend)) as backend:
            back = threading.Thread(target=_copy, args=(backend, self.request))
            back.start()
            _copy(self.request, backend)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def balancer(*backends: int | None) -> Iterator[int]:
    """Yield a port behind which these are; None resets its connections."""
    server = Balancer(list(backends))
    with running(server):
        yield server.server_address[1]
