"""Mail servers that fail in one way each: down, silent, dripping, refusing.

Each is a real server on loopback. Set READBACK_SMTP_URL to its `url`.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer

from tests.support.mailbox import HOST, Mailbox, mailbox
from tests.support.peers import serving

DRIP_SECONDS = 3.0
_GREETING = b"220-welcome " + b"." * 1000


class _NeverReady(BaseRequestHandler):
    """Sends a byte of its greeting in each interval, or nothing without an interval."""

    server: "HangingServer"

    def handle(self) -> None:
        self.server.connections += 1
        with suppress(OSError):
            for byte in _GREETING if self.server.interval else ():
                self.request.sendall(bytes([byte]))
                if self.server.stopped.wait(self.server.interval):
                    return
        self.server.stopped.wait()


class HangingServer(ThreadingTCPServer):
    """Accepts connections and never finishes its greeting.

    With an interval, it keeps sending bytes, so a timeout for each read never expires.
    """

    request_queue_size = 100

    def __init__(self, interval: float | None) -> None:
        super().__init__((HOST, 0), _NeverReady)
        self.url = f"smtp://{HOST}:{self.server_address[1]}"
        self.interval = interval
        self.stopped = threading.Event()
        self.connections = 0
        """The number of connections that it has accepted so far."""


@contextmanager
def silent_server(interval: float | None = None) -> Iterator[HangingServer]:
    """Run a silent server; with an interval, it drips its greeting instead."""
    server = HangingServer(interval)
    with serving(server):
        try:
            yield server
        finally:
            server.stopped.set()


@contextmanager
def server_that_is_down() -> Iterator[str]:
    """Yield the URL of a port that is taken, but on which nothing listens."""
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        yield f"smtp://{HOST}:{bound.getsockname()[1]}"


class RefusingMailbox(Mailbox):
    """A mailbox that refuses the recipients in `answers`, with the reply for each."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, str] = {}
        self.asked: list[str] = []
        self._controller.handler.handle_RCPT = self._handle_recipient

    async def _handle_recipient(self, server, session, envelope, address, options):
        self.asked.append(address)
        if address in self.answers:
            return self.answers[address]
        envelope.rcpt_tos.append(address)
        return "250 ok"


@contextmanager
def refusing_mailbox() -> Iterator[RefusingMailbox]:
    with mailbox(RefusingMailbox()) as box:
        yield box
