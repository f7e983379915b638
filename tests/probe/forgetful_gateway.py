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
        """Copy in both directions until one side closes or the connection is forgotten.

        Only a connection that is used again for its first request, without a key, is
        forgotten: on a busy machine, the other connections of a run pause as well.
        """
        first, is_answered, last = b"", False, time.monotonic()
        while True:
            # A gateway that closes idle connections does so without waiting for data.
            is_closing = self.server.on_forgotten is None and is_answered
            patience = self.server.seconds if is_closing else None
            ready = select.select([self.request, upstream], [], [], patience)[0]
            if not ready:
                return True
            is_paused = time.monotonic() - last > self.server.seconds
            if self.request in ready:
                data = self.request.recv(65536, socket.MSG_PEEK)
                if is_paused and is_answered and data == first:
                    return True
                first = first or data
            for one, other in ((self.request, upstream), (upstream, self.request)):
                if one in ready:
                    if not (data := one.recv(65536)):
                        return False
                    other.sendall(data)
            is_answered = upstream in ready and b"\nAuthorization: " not in first
            last = time.monotonic()


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
