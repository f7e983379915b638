"""Clients that send requests at a constant rate and record what became of each one.

A request is *answered* if its status is 200 and the body is right, *refused* if it has
another status, and *lost* if its connection ends or no answer arrives in time. Clients
keep their connections; some open a new one for each request.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.support.api import Api, assert_echo, draft
from tests.support.waiting import wait_until
from tests.support.wire import Connection, Endpoint, request

CLIENTS = 8
SECONDS_BETWEEN_REQUESTS = 0.04
# Longer than any request should take, so that a slow one is recorded as slow.
PATIENCE = 20.0


@dataclass(frozen=True)
class Outcome:
    """What became of one request."""

    started_at: float
    seconds: float
    problem: str
    """Empty if the request was answered."""


@dataclass
class Traffic:
    """The outcomes so far."""

    outcomes: list[Outcome] = field(default_factory=list)
    retried: int = 0
    """How often the balancer has sent a request again; known at the end."""
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def answered(self) -> int:
        return sum(not outcome.problem for outcome in self.outcomes)

    @property
    def problems(self) -> Counter[str]:
        return Counter(each.problem for each in self.outcomes if each.problem)

    @property
    def lost(self) -> int:
        return sum(n for problem, n in self.problems.items() if "lost" in problem)

    def wait_for(self, requests: int) -> None:
        """Wait until this many more requests are answered."""
        goal = self.answered + requests
        wait_until(
            lambda: self.answered >= goal,
            lambda: f"{requests} more requests are answered: {self}",
            seconds=30,
        )

    def __str__(self) -> str:
        return (
            f"{self.answered} answered, {self.lost} lost, {self.retried} retried,"
            f" longest {self.longest():.3f} s; {dict(self.problems)}"
        )

    def percentile(self, share: float, since: float = 0, until: float = 1e12) -> float:
        """Return how long a request took that started between two moments."""
        times = sorted(
            each.seconds for each in self.outcomes if since <= each.started_at < until
        )
        return times[min(len(times) - 1, int(share * len(times)))]

    def slower_than(self, seconds: float) -> int:
        return sum(each.seconds > seconds for each in self.outcomes)

    def longest(self) -> float:
        return max(each.seconds for each in self.outcomes)


Prepare = Callable[[int], tuple[bytes, Callable[[Connection], str]]]
"""Returns the bytes of a request, and what reads its answer and returns a problem."""


def echoes(endpoint: Endpoint, keys: list[str]) -> Prepare:
    """Send unique texts with keys in turn, and compare every byte of the answers."""

    def prepare(number: int) -> tuple[bytes, Callable[[Connection], str]]:
        api, text = Api(endpoint, keys[number % len(keys)]), f"text {number}"

        def check(connection: Connection) -> str:
            answer = connection.read_answer()
            if answer.status != 200:
                return f"refused with {answer.status}"
            try:
                assert_echo(answer, text)
            except AssertionError as error:
                return f"wrong: {error}"
            return ""

        return api.chat_bytes(draft(text)), check

    return prepare


def pages(endpoint: Endpoint, path: str = "/") -> Prepare:
    """Open a page of the cabinet."""
    raw = request("GET", path, [("Host", endpoint.authority)])

    def check(connection: Connection) -> str:
        answer = connection.read_answer()
        return "" if answer.status == 200 else f"refused with {answer.status}"

    return lambda number: (raw, check)


@contextmanager
def traffic(
    endpoint: Endpoint, prepare: Prepare, clients: int = CLIENTS
) -> Iterator[Traffic]:
    """Send requests until the end of the block, and wait for the last answers."""
    seen = Traffic()
    threads = [
        threading.Thread(target=_Client(endpoint, prepare, seen, number, clients).run)
        for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        seen.stopped.set()
        for thread in threads:
            thread.join(PATIENCE + 5)


class _Client:
    def __init__(
        self,
        endpoint: Endpoint,
        prepare: Prepare,
        seen: Traffic,
        number: int,
        clients: int,
    ) -> None:
        self._endpoint = endpoint
        self._prepare = prepare
        self._seen = seen
        self._next = number
        self._clients = clients
        self._keeps_connections = number % 4 != 0
        self._connection: Connection | None = None

    def run(self) -> None:
        due = time.monotonic()
        while not self._seen.stopped.wait(max(0.0, due - time.monotonic())):
            began = time.monotonic()
            problem = self._ask()
            seconds = time.monotonic() - began
            self._seen.outcomes.append(Outcome(began, seconds, problem))
            self._next += self._clients
            due = max(due, began) + SECONDS_BETWEEN_REQUESTS
        self._hang_up()

    def _ask(self) -> str:
        raw, check = self._prepare(self._next)
        closes = not self._keeps_connections
        try:
            if self._connection is None:
                self._connection = self._endpoint.connect(PATIENCE)
            self._connection.send(raw)
            problem = check(self._connection)
        except (AssertionError, OSError) as error:
            problem, closes = f"lost: {error!r}", True
        if closes or problem:
            self._hang_up()
        return problem

    def _hang_up(self) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.__exit__(None, None, None)
        self._connection = None
