"""Clients that send requests at a constant rate and record what became of each one.

A request is *answered* if its status is 200 and the body is right, *refused* if it has
another status, and *lost* if its connection ends or no answer arrives in time. Most
clients keep their connections; some open a new one for each request.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.support.api import Api, assert_echo, draft
from tests.support.waiting import wait_until
from tests.support.wire import Answer, Connection, Endpoint, request

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
    failed: list[Outcome] = field(default_factory=list)
    retried: int = 0
    """How often the balancer has sent a request again; known at the end."""
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

    def percentile(self, share: float, since: float, until: float) -> float:
        """Return how long a request took that started between two moments."""
        times = sorted(
            each.seconds for each in self.outcomes if since <= each.started_at < until
        )
        return times[int(share * len(times))]

    def wait_for(self, requests: int) -> None:
        """Wait until this many more requests are answered."""
        goal = self.answered + requests
        wait_until(
            lambda: self.answered >= goal,
            lambda: f"{requests} more requests are answered: {self}",
            seconds=30,
        )

    def note(self, outcome: Outcome) -> None:
        # In this order: `answered` may be too small for a moment, never too large.
        if outcome.problem:
            self.failed.append(outcome)
        self.outcomes.append(outcome)

    def __str__(self) -> str:
        lost = sum("lost" in outcome.problem for outcome in self.failed)
        return (
            f"{self.answered} answered, {lost} lost, {self.retried} retried,"
            f" longest {self.longest:.3f} s; problems: {dict(self.problems)}"
        )


Check = Callable[[Answer], None]
Prepare = Callable[[int], tuple[bytes, Check]]
"""Returns the n-th request, and a check that raises AssertionError."""


def echoes(endpoint: Endpoint, keys: list[str]) -> Prepare:
    """Send unique texts with keys in turn, and compare every byte of the answers."""

    def prepare(number: int) -> tuple[bytes, Check]:
        api, text = Api(endpoint, keys[number % len(keys)]), f"text {number}"
        return api.chat_bytes(draft(text)), lambda answer: assert_echo(answer, text)

    return prepare


def pages(endpoint: Endpoint) -> Prepare:
    """Open the start page of the cabinet."""
    raw = request("GET", "/", [("Host", endpoint.authority)])
    return lambda number: (raw, lambda answer: None)


@contextmanager
def traffic(endpoint: Endpoint, prepare: Prepare) -> Iterator[Traffic]:
    """Send requests until the end of the block, and wait for the last answers."""
    seen = Traffic()
    clients = [_Client(endpoint, prepare, seen, number) for number in range(CLIENTS)]
    threads = [threading.Thread(target=client.run) for client in clients]
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
        self, endpoint: Endpoint, prepare: Prepare, seen: Traffic, number: int
    ) -> None:
        self._endpoint = endpoint
        self._prepare = prepare
        self._seen = seen
        self._next_request = number
        self._keeps_connections = number % 4 != 0
        self._connection: Connection | None = None
        self._stack = ExitStack()

    def run(self) -> None:
        due = time.monotonic()
        while not self._seen.stopped.wait(max(0.0, due - time.monotonic())):
            began = time.monotonic()
            problem = self._ask()
            self._seen.note(Outcome(began, time.monotonic() - began, problem))
            if problem or not self._keeps_connections:
                self._hang_up()
            self._next_request += CLIENTS
            due = max(due, began) + SECONDS_BETWEEN_REQUESTS
        self._hang_up()

    def _ask(self) -> str:
        """Send the next request; return what is wrong with its answer, if anything."""
        raw, check = self._prepare(self._next_request)
        try:
            if self._connection is None:
                connection = self._endpoint.connect(PATIENCE)
                self._connection = self._stack.enter_context(connection)
            self._connection.send(raw)
            answer = self._connection.read_answer()
        except (AssertionError, OSError) as error:
            return f"lost: {error!r}"
        if answer.header("Connection") == "close":
            self._hang_up()
        if answer.status != 200:
            return f"refused with {answer.status}"
        try:
            check(answer)
        except AssertionError as error:
            return f"wrong: {error}"
        return ""

    def _hang_up(self) -> None:
        self._stack.close()
        self._connection = None
