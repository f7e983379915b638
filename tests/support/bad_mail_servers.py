"""Mail servers that fail in one way each: down, silent, dripping, refusing.

Each is a real server on loopback; pass `url` to the product as READBACK_SMTP_URL.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support.mailbox import HOST, Mailbox

DRIP_SECONDS = 3.0
_GREETING = b"220-welcome " + b"." * 1000


class HangingServer:
    """Accepts connections and never finishes its greeting.

    With `drip_seconds`, it sends one byte of the greeting in each interval, so that no
    timeout between two bytes ever ends the wait; without, it sends nothing.
    """

    def __init__(self, drip_seconds: float | None) -> None:
        self._drip_seconds = drip_seconds
        self._listener = socket.create_server((HOST, 0), backlog=100)
        self._stopped = threading.Event()
        self._accepted: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self.url = f"smtp://{HOST}:{self._listener.getsockname()[1]}"

    @property
    def connections(self) -> int:
        """The number of connections that it has accepted so far."""
        return len(self._accepted)

    def start(self) -> None:
        self._accepting.start()

    def stop(self) -> None:
        self._stopped.set()
        # A shutdown ends the accept of another thread; a close alone would not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        for each in self._accepted:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._accepted.append(client)
                threading.Thread(target=self._drip, args=(client,), daemon=True).start()

    def _drip(self, client: socket.socket) -> None:
        if self._drip_seconds is None:
            return
        with suppress(OSError):
            for byte in _GREETING:
                client.sendall(bytes([byte]))
                if self._stopped.wait(self._drip_seconds):
                    return


@contextmanager
def silent_server() -> Iterator[HangingServer]:
    with _running(HangingServer(None)) as server:
        yield server


@contextmanager
def dripping_server(seconds: float = DRIP_SECONDS) -> Iterator[HangingServer]:
    with _running(HangingServer(seconds)) as server:
        yield server


@contextmanager
def _running(server: HangingServer) -> Iterator[HangingServer]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def server_that_is_down() -> Iterator[str]:
    """Yield the URL of a port that is taken, but does not listen."""
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        yield f"smtp://{HOST}:{bound.getsockname()[1]}"


class RefusingMailbox(Mailbox):
    """A mailbox that answers each recipient with the status in `answers`, if any."""

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
    box = RefusingMailbox()
    box.start()
    try:
        yield box
    finally:
        box.stop()
