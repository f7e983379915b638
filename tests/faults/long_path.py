"""Clients at the end of a long path: real connections whose bytes arrive late.

Each direction takes half a round trip, for the bytes and for the end of the stream. A
request is lost if its client sent it on a connection that the server had not announced
to close, as far as the client could know, and got no answer. A connection that is
refused carries no request.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from tests.support.api import Api, assert_echo, draft
from tests.support.waiting import PATIENCE
from tests.support.wire import Answer, parse_head

# After a long pause, a client sends its next request on a connection that looks idle.
# After a short one it is mostly waiting for an answer, and does not fill a core.
PAUSE_SECONDS, SHORT_PAUSE_SECONDS = 0.4, 0.1


@dataclass
class Seen:
    """What the clients have seen so far."""

    answered: int = 0
    announced: int = 0
    lost: list[str] = field(default_factory=list)
    refused: int = 0


class LongConnection(asyncio.Protocol):
    """The client's end of one connection."""

    def __init__(self, round_trip: float) -> None:
        self._delay = round_trip / 2
        self._unread = b""
        self._ended = ""
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._later(self._receive, data, "")

    def eof_received(self) -> bool:
        self._later(self._receive, b"", "closed")
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            self._later(self._receive, b"", repr(exc))

    def send(self, data: bytes) -> None:
        self._later(self.transport.write, data)

    async def read_answer(self) -> Answer:
        """Return the next answer; raise EOFError if the connection ends before it."""
        while (end := self._unread.find(b"\r\n\r\n")) < 0:
            await self._more()
        head = self._unread[:end]
        status, reason, headers = parse_head(head)
        [length] = [int(v) for name, v in headers if name.lower() == "content-length"]
        while len(self._unread) < end + 4 + length:
            await self._more()
        body = self._unread[end + 4 : end + 4 + length]
        self._unread = self._unread[end + 4 + length :]
        return Answer(status, reason, headers, body, head)

    async def _more(self) -> None:
        if self._ended:
            raise EOFError(f"{self._ended} after {self._unread!r}")
        self._arrived.clear()
        await self._arrived.wait()

    def _receive(self, data: bytes, ended: str) -> None:
        self._unread += data
        self._ended = self._ended or ended
        self._arrived.set()

    def _later(self, call: Callable[..., object], *arguments: object) -> None:
        if self._delay:
            self._loop.call_later(self._delay, call, *arguments)
        else:
            call(*arguments)


@contextmanager
def load_from_afar(api: Api, round_trip: float, clients: int = 40) -> Iterator[Seen]:
    """Send requests from a thread; half of the clients pause for long between them.

    A client leaves when its connection is refused, or at the end.
    """
    seen, stop = Seen(), threading.Event()

    async def run() -> None:
        asks = [_ask(api, seen, round_trip, stop, n) for n in range(clients)]
        await asyncio.gather(*asks)

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


async def _ask(
    api: Api, seen: Seen, round_trip: float, stop: threading.Event, number: int
) -> None:
    loop, endpoint = asyncio.get_running_loop(), api.endpoint
    while not stop.is_set():
        try:
            _, connection = await loop.create_connection(
                lambda: LongConnection(round_trip), endpoint.host, endpoint.port
            )
        except OSError:
            seen.refused += 1
            return
        await _use(connection, api, seen, stop, number)
        connection.transport.abort()


async def _use(
    connection: LongConnection, api: Api, seen: Seen, stop: threading.Event, number: int
) -> None:
    """Send requests one after the other until the server announces the end."""
    turn = 0
    while not stop.is_set():
        turn += 1
        text = f"client {number} turn {turn}"
        connection.send(api.chat_bytes(draft(text)))
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await connection.read_answer()
            assert_echo(answer, text)
        except (AssertionError, EOFError, TimeoutError) as error:
            seen.lost.append(f"{text}: {error!r}")
            return
        seen.answered += 1
        if answer.header("Connection") == "close":
            seen.announced += 1
            return
        await asyncio.sleep(PAUSE_SECONDS if number % 2 else SHORT_PAUSE_SECONDS)
