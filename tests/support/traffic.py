"""Clients that send one request after another and record each outcome.

A request fails if its answer is missing or wrong. A client closes its connection after
an answer that announces the end. Most clients keep their connections; every fourth
opens a new one for each request. Each direction takes half of `round_trip`.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from tests.support.api import Api, assert_echo, draft
from tests.support.waiting import wait_until
from tests.support.wire import Answer, Connection, Endpoint, request

CLIENTS = 8
# Seconds before the next request, so that the clients leave CPU time to the server.
PAUSES = (0.01,)

Check = Callable[[Answer], object]
Prepare = Callable[[int], tuple[bytes, Check]]
"""Returns the n-th request, and a check that raises AssertionError."""


def echoes(endpoint: Endpoint, keys: Sequence[str]) -> Prepare:
    """Send unique texts with the keys in turn; compare every byte of the answers."""

    def prepare(number: int) -> tuple[bytes, Check]:
        api = Api(endpoint, keys[number % len(keys)])
        text = f"text {number}"
        return api.chat_bytes(draft(text)), lambda answer: assert_echo(answer, text)

    return prepare


def pages(endpoint: Endpoint, path: str = "/", method: str = "GET") -> Prepare:
    """Open a cabinet page."""
    raw = request(method, path, [("Host", endpoint.authority)])
    return lambda number: (raw, lambda answer: None)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one request."""

    started_at: float
    seconds: float
    error: Exception | None
    is_announced: bool
    """Whether its answer announced the end of the connection."""


@dataclass
class Traffic:
    """What the clients have seen so far."""

    outcomes: list[Outcome] = field(default_factory=list)
    failed: list[Outcome] = field(default_factory=list)
    refusals: list[Outcome] = field(default_factory=list)
    """Requests that were never sent, because the connection was refused."""
    retried: int = 0
    """How often a load balancer has repeated a request; set by the caller."""
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def answered(self) -> int:
        return len(self.outcomes) - len(self.failed)

    @property
    def announced(self) -> int:
        return sum(outcome.is_announced for outcome in self.outcomes)

    @property
    def refused(self) -> int:
        return len(self.refusals)

    @property
    def problems(self) -> Counter[str]:
        return Counter(repr(outcome.error) for outcome in self.failed)

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
        # Append in this order, so that `answered` may briefly be too small but never
        # too large.
        if outcome.error:
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

    With `until_refused`, a refused connection ends a client, as it should after a stop;
    otherwise it counts as a failure.
    """
    seen = Traffic()

    def run(first: int) -> None:
        client = _Client(endpoint, prepare, round_trip / 2, first % 4 != 0)
        for number in count(first, clients):
            outcome = client.ask(number)
            if isinstance(outcome.error, ConnectionRefusedError):
                seen.refusals.append(outcome)
                if until_refused:
                    return
            seen.note(outcome)
            if seen.stopped.wait(pauses[first % len(pauses)]):
                return client.hang_up()

    threads = [threading.Thread(target=run, args=(first,)) for first in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        seen.stopped.set()
        for thread in threads:
            thread.join()


@dataclass
class _Client:
    endpoint: Endpoint
    prepare: Prepare
    delay: float
    """How many seconds a request takes to arrive; its answer takes as long."""
    keeps_connections: bool
    connection: Connection | None = None

    def ask(self, number: int) -> Outcome:
        """Send a request; return its outcome."""
        raw, check = self.prepare(number)
        began = time.monotonic()
        error: Exception | None = None
        is_announced = False
        try:
            answer = self._exchange(raw)
            is_announced = answer.header("Connection") == "close"
            assert answer.status == 200, f"status {answer.status}"
            check(answer)
        except (AssertionError, OSError) as caught:
            error = caught
        if error or is_announced or not self.keeps_connections:
            self.hang_up()
        return Outcome(began, time.monotonic() - began, error, is_announced)

    def _exchange(self, raw: bytes) -> Answer:
        if self.connection is None:
            self.connection = self.endpoint.connect()
        time.sleep(self.delay)
        self.connection.send(raw)
        answer = self.connection.read_answer(bodiless=raw.startswith(b"HEAD "))
        time.sleep(self.delay)
        return answer

    def hang_up(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection = None
