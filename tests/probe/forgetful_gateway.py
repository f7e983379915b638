"""A TCP gateway that forgets connections on which nothing was sent for some time."""

import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer

from tests.probe.relay import running

OnForgotten = Callable[[socket.socket], None]
"""What the gateway does with data on a connection that it has forgotten."""


def ignore(client: socket.socket) -> None:
    """Drop everything that arrives, and say nothing."""
    while client.recv(65536):
        pass


def reset(client: socket.socket) -> None:
    # RFC 9293 §3.10.7.1: the answer to data for a connection that does not exist.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class ForgetfulGateway(ThreadingTCPServer):
    daemon_threads = True

    def __init__(
        self, upstream: int, seconds: float, on_forgotten: OnForgotten | None
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = ("127.0.0.1", upstream)
        self.seconds = seconds
        self.on_forgotten = on_forgotten

    def handle_error(self, request, client_address) -> None:
        """Do not log: in these tests, connections end in unusual ways."""


class _Handler(BaseRequestHandler):
    server: ForgetfulGateway

    def handle(self) -> None:
        with socket.create_connection(self.server.upstream) as upstream:
            if self._is_forgotten_after_copying(upstream) and self.server.on_forgotten:
                self.server.on_forgotten(self.request)

    def _is_forgotten_after_copying(self, upstream: socket.socket) -> bool:
        """Copy in both directions until one side closes or is idle for too long."""
        partner = {self.request: upstream, upstream: self.request}
        last = time.monotonic()
        # A gateway that closes idle connections does so without waiting for data.
        patience = None if self.server.on_forgotten else self.server.seconds
        while True:
            ready = select.select([self.request, upstream], [], [], patience)[0]
            if time.monotonic() - last > self.server.seconds or not ready:
                return True
            last = time.monotonic()
            for one in ready:
                if not (data := one.recv(65536)):
                    return False
                partner[one].sendall(data)


@contextmanager
def forgetful_gateway(
    upstream: int, seconds: float, on_forgotten: OnForgotten | None
) -> Iterator[int]:
    """Yield the port of a gateway to the port of the upstream server.

    Without `on_forgotten` it closes idle connections instead of forgetting them.
    """
    server = ForgetfulGateway(upstream, seconds, on_forgotten)
    with running(server):
        yield server.server_address[1]
