"""Clients that send one request after the other and record what became of each.

A request is *lost* if its client sent it on a connection that the server had not
announced to close, as far as the client could know, and got no answer. A connection
that is refused carries no request. Most clients keep their connections; every fourth
opens a new one for each request. With a round trip, each direction takes half of it,
for the bytes and for the end of the stream.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from tests.support.api import Api, assert_echo, draft
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Answer, Endpoint, content_length, parse_head, request

CLIENTS = 8
# Between an answer and the next request, so that clients leave the cores to the server.
PAUSES = (0.01,)

Check = Callable[[Answer], object]
Prepare = Callable[[int], tuple[bytes, Check]]
"""Returns the n-th request, and a check that raises AssertionError."""


def echoes(endpoint: Endpoint, keys: Sequence[str]) -> Prepare:
    """Send unique texts with keys in turn, and compare every byte of the answers."""

    def prepare(number: int) -> tuple[bytes, Check]:
        api, text = Api(endpoint, keys[number % len(keys)]), f"text {number}"
        return api.chat_bytes(draft(text)), lambda answer: assert_echo(answer, text)

    return prepare


def pages(endpoint: Endpoint, path: str = "/") -> Prepare:
    """Open a page of the cabinet."""
    raw = request("GET", path, [("Host", endpoint.authority)])
    return lambda number: (raw, lambda answer: None)


@dataclass(frozen=True)
class Outcome:
    """What became of one request."""

    started_at: float
    seconds: float
    problem: str
    """Empty if the request was answered."""


@dataclass
class Traffic:
    """What the clients have seen so far."""

    outcomes: list[Outcome] = field(default_factory=list)
    failed: list[Outcome] = field(default_factory=list)
    announced: int = 0
    """How many answers have announced the end of their connection."""
    refused: int = 0
    """How many connections were refused."""
    retried: int = 0
    """How often a balancer has sent a request again; set by whoever knows it."""
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def answered(self) -> int:
        return len(self.outcomes) - len(self.failed)

    @property
    def problems(self) -> Counter[str]:
        return Counter(outcome.problem for outcome in self.failed)

    @property
    def longest(self) -> float:
        return max(outcome.seconds for outcome in self.outcomes)

    def wait_for(self, requests: int) -> None:
        """Wait until this many more requests are answered."""
        goal = self.answered + requests
        wait_until(
            lambda: self.answered >= goal,
            lambda: f"{requests} more requests are answered: {self}",
        )

    def note(self, outcome: Outcome) -> None:
        # In this order: `answered` may be too small for a moment, never too large.
        if outcome.problem:
            self.failed.append(outcome)
        self.outcomes.append(outcome)

    def __str__(self) -> str:
        return (
            f"{self.answered} answered, {self.retried} retried, {self.refused} refused,"
            f" longest {self.longest:.3f} s; problems: {dict(self.problems)}"
        )


@contextmanager
def traffic(
    endpoint: Endpoint,
    prepare: Prepare,
    *,
    clients: int = CLIENTS,
    pauses: Sequence[float] = PAUSES,
    round_trip: float = 0.0,
    until_refused: bool = False,
) -> Iterator[Traffic]:
    """Send requests during the block, and wait for the last answers.

    With `until_refused`, a client leaves when its connection is refused, as it should
    be after a stop; otherwise that is a problem.
    """
    seen = Traffic()

    async def run() -> None:
        asking = (
            _Client(endpoint, prepare, seen, number, round_trip, until_refused)
            for number in range(clients)
        )
        await asyncio.gather(
            *(
                each.run(pauses[n % len(pauses)], clients)
                for n, each in enumerate(asking)
            )
        )

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        yield seen
    finally:
        seen.stopped.set()
        thread.join()


@dataclass
class _Client:
    endpoint: Endpoint
    prepare: Prepare
    seen: Traffic
    number: int
    round_trip: float
    until_refused: bool
    connection: "_Connection | None" = None

    async def run(self, pause: float, step: int) -> None:
        keeps_connections = self.number % 4 != 0
        while not self.seen.stopped.is_set():
            began = time.monotonic()
            try:
                problem = await self._ask()
            except ConnectionRefusedError as error:
                self.seen.refused += 1
                if self.until_refused:
                    return
                problem = repr(error)
            self.seen.note(Outcome(began, time.monotonic() - began, problem))
            if problem or not keeps_connections:
                self._hang_up()
            self.number += step
            await asyncio.sleep(pause)
        self._hang_up()

    async def _ask(self) -> str:
        """Send the next request; return what is wrong with its answer, if anything."""
        raw, check = self.prepare(self.number)
        try:
            async with asyncio.timeout(PATIENCE):
                if self.connection is None:
                    self.connection = await self._connect()
                self.connection.send(raw)
                answer = await self.connection.read_answer()
            if answer.header("Connection") == "close":
                self.seen.announced += 1
                self._hang_up()
            assert answer.status == 200, f"status {answer.status}"
            check(answer)
        except ConnectionRefusedError:
            raise
        except (AssertionError, EOFError, OSError) as error:
            return repr(error)
        return ""

    async def _connect(self) -> "_Connection":
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: _Connection(self.round_trip / 2),
            self.endpoint.host,
            self.endpoint.port,
        )
        return connection

    def _hang_up(self) -> None:
        if self.connection is not None:
            self.connection.transport.abort()
        self.connection = None


class _Connection(asyncio.Protocol):
    """The client's end of one connection, whose bytes arrive late."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
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
        if ("Transfer-Encoding", "chunked") in headers:
            # A line of text, as the health check of the cabinet has.
            while (last := self._unread.find(b"\r\n0\r\n\r\n", end)) < 0:
                await self._more()
            length = last + 7 - (end + 4)
        else:
            length = content_length(headers)
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
