"""Clients that send one request after the other and record every failure.

A request has started when its bytes are sent on a connection that the server has not
announced to close; anything but its answer is then a failure. A connection that cannot
be opened is counted separately, because it is expected when a service stops.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.api import Api, assert_echo, draft
from tests.support.threads import running
from tests.support.wire import Answer, Connection

# After each answer, so that the clients do not take the cores from the server.
PAUSE_SECONDS = 0.01


@dataclass
class Load:
    """What the clients have seen so far."""

    answered: int = 0
    last_answers: int = 0
    failed: list[str] = field(default_factory=list)
    refused_connections: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, answer: Answer) -> None:
        with self._lock:
            self.answered += 1
            self.last_answers += answer.header("Connection") == "close"


@contextmanager
def load(api: Api, clients: int = 8, *, ends_when_refused: bool) -> Iterator[Load]:
    """Send requests from threads, on persistent and on new connections."""
    seen = Load()
    threads = [
        threading.Thread(target=_ask, args=(api, seen, number, ends_when_refused))
        for number in range(clients)
    ]
    with running(threads, seen.stop):
        yield seen


def _ask(api: Api, seen: Load, number: int, ends_when_refused: bool) -> None:
    while not seen.stop.is_set():
        try:
            connection = api.endpoint.connect()
        except OSError as error:
            seen.refused_connections.append(repr(error))
            if ends_when_refused:
                return
            continue
        with connection:
            _use(connection, api, seen, number)


def _use(connection: Connection, api: Api, seen: Load, number: int) -> None:
    """Send requests until the server closes; some clients leave after one."""
    turn = 0
    while not seen.stop.wait(PAUSE_SECONDS):
        turn += 1
        text = f"client {number} turn {turn}"
        try:
            connection.send(api.chat_bytes(draft(text)))
            answer = connection.read_answer()
            assert_echo(answer, text)
        except (AssertionError, OSError) as error:
            seen.failed.append(f"turn {turn}: {error!r}")
            return
        seen.note(answer)
        if answer.header("Connection") == "close" or number % 4 == 0:
            return
