"""What happened, counted: equal outcomes are merged until the clerk fetches them.

Only the event loop's thread uses a journal. An event names a key by its digest: the id
of its row may belong to another key after the database was restored. An event never
contains a text, a body or a key.
"""

from collections.abc import Callable
from typing import NamedTuple

from readback.api.shared.counters import ACCEPTED
from readback.shared_counters import WorkerCounters

# Distinct outcomes that may wait to be written. With more, details of the caller are
# left out so that outcomes merge, and counts stay exact; with twice as many, new
# outcomes are dropped.
MAX_PENDING = 10_000


class Event(NamedTuple):
    """One kind of outcome for one key, as its owner sees it."""

    digest: bytes
    endpoint: str
    status: int
    code: str
    detail: str
    user_agent: str
    address: str
    differences: str = ""

    @property
    def accepted(self) -> bool:
        return self.code == ACCEPTED

    @property
    def plain(self) -> "Event":
        """The event without the details that distinguish one caller from another."""
        return self._replace(detail="", user_agent="", address="", differences="")


# The fields of an `Event`, which is equal to them and takes longer to make.
EventFields = tuple[bytes, str, int, str, str, str, str, str]


class Tally:
    """How often an event has happened since the clerk last fetched it."""

    # fmt: off
    __slots__ = (
        "answer_bytes", "at", "event", "last_created", "open", "request_bytes",
        "requests",
    )
    # fmt: on

    def __init__(self, event: Event) -> None:
        self.event = event
        self.open = True
        self.requests = 0
        self.at = 0.0
        self.last_created = 0
        self.request_bytes = 0
        self.answer_bytes = 0

    def count(self, request_bytes: int, answer_bytes: int) -> None:
        """Count one request; the sizes kept are those of the last one."""
        self.requests += 1
        self.request_bytes = request_bytes
        self.answer_bytes = answer_bytes


class Journal:
    """The tallies of one worker that have not been written yet."""

    def __init__(
        self,
        counters: WorkerCounters,
        note_error: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self._counters = counters
        # Called with each unexpected error of a single tally, which is then dropped.
        self._note_error = note_error
        self._pending: dict[EventFields, Tally] = {}
        self._closed: dict[tuple[Event, int], Tally] = {}

    def open(self, fields: EventFields) -> Tally:
        """Return the tally of an event; a caller may keep it while it is open."""
        tally = self._pending.get(fields)
        if tally is None:
            event = Event(*fields)
            if len(self._pending) >= MAX_PENDING:
                return self._overflow(event)
            tally = self._pending[event] = Tally(event)
        return tally

    def note(self, fields: EventFields, request_bytes: int, answer_bytes: int) -> None:
        self.open(fields).count(request_bytes, answer_bytes)

    def close(self, wall: float, last_created: Callable[[bytes], int]) -> None:
        """Date and count what has happened, so that it can be fetched.

        `last_created` returns how far the answers to a key are numbered.
        """
        pending, self._pending = self._pending, {}
        for tally in pending.values():
            tally.open = False
            tally.at = wall
            event = tally.event
            try:
                tally.last_created = last_created(event.digest)
                self._counters.add((event.endpoint, event.code), tally.requests)
                self._keep(tally)
            except Exception as error:
                self._note_error(error)
                self.drop([tally])

    def fetch(self) -> list[Tally]:
        """Return everything that is ready to be written."""
        closed, self._closed = self._closed, {}
        return list(closed.values())

    def give_back(self, tallies: list[Tally]) -> None:
        """Take back what could not be written."""
        for tally in tallies:
            self._keep(tally)

    def drop(self, tallies: list[Tally]) -> None:
        """Count what will never be written."""
        for tally in tallies:
            self._counters.add("journal_dropped", tally.requests)

    def __len__(self) -> int:
        return len(self._pending) + len(self._closed)

    def _keep(self, tally: Tally) -> None:
        """Keep a closed tally; equal events of one hour merge."""
        hour = int(tally.at // 3600)
        if len(self._closed) >= MAX_PENDING and (tally.event, hour) not in self._closed:
            tally.event = tally.event.plain
        held = self._closed.get((tally.event, hour))
        if held is not None:
            held.requests += tally.requests
            held.at = max(held.at, tally.at)
            held.last_created = max(held.last_created, tally.last_created)
        elif len(self._closed) < 2 * MAX_PENDING:
            self._closed[tally.event, hour] = tally
        else:
            self.drop([tally])

    def _overflow(self, event: Event) -> Tally:
        plain = event.plain
        tally = self._pending.get(plain)
        if tally is None:
            tally = Tally(plain)
            if len(self._pending) < 2 * MAX_PENDING:
                self._pending[plain] = tally
            else:
                tally.open = False  # so that no caller keeps it
                self._counters.add((event.endpoint, event.code))
                self._counters.add("journal_dropped")
        return tally
