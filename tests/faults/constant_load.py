"""Clients that never stop asking, and remember every way in which it went wrong.

A request has begun when its bytes have been sent on a connection that the server had
not announced to close. Whatever then comes instead of its answer is a failure. A
connection that cannot be opened is counted apart: when a service stops, that is how
it ought to be.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.api import Api, assert_echo, draft
from tests.support.wire import Answer, Connection


@dataclass
class Load:
    """What a crowd of clients has seen so far."""

    answered: int = 0
    last_answers: int = 0
    failed: list[str] = field(default_factory=list)
    turned_away: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, answer: Answer) -> None:
        with self._lock:
            self.answered += 1
            self.last_answers += answer.header("Connection") == "close"


@contextmanager
def load(api: Api, clients: int = 8, *, ends_when_refused: bool) -> Iterator[Load]:
    """Ask without pause, on kept-alive and on new connections, in threads."""
    seen = Load()
    threads = [
        threading.Thread(target=_ask, args=(api, seen, number, ends_when_refused))
        for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        seen.stop.set()
        for thread in threads:
            thread.join(20)


def _ask(api: Api, seen: Load, number: int, ends_when_refused: bool) -> None:
    while not seen.stop.is_set():
        try:
            connection = api.endpoint.connect()
        except OSError as error:
            seen.turned_away.append(repr(error))
            if ends_when_refused:
                return
            continue
        with connection:
            _talk(connection, api, seen, number)


def _talk(connection: Connection, api: Api, seen: Load, number: int) -> None:
    """Ask until told that it was the last time; some clients leave after one."""
    turn = 0
    while not seen.stop.is_set():
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
