"""What happened, counted: equal outcomes merge until the clerk fetches them.

Only the event loop's thread touches a journal; it hands whole batches to the clerk.
An event names a key by its row in the database, so nothing is ever attributed to a
key that was not found by its digest. No text, body or key is ever in an event.
"""

from typing import NamedTuple

from readback.api.shared.counters import ACCEPTED, WorkerCounters

USER_AGENT_CHARACTERS = 80
# Distinct outcomes that wait for the clerk at most. Beyond it, what tells equal
# outcomes apart is left out, and the counts stay exact; beyond twice that, dropped.
MAX_PENDING = 10_000


class Event(NamedTuple):
    """One kind of outcome for one key, as its owner sees it."""

    key_id: int
    endpoint: str
    status: int
    code: str
    detail: str
    user_agent: str
    address: str

    @property
    def accepted(self) -> bool:
        return self.code == ACCEPTED

    @property
    def plain(self) -> "Event":
        """The event without what tells one caller from another."""
        return self._replace(detail="", user_agent="", address="")


class Tally:
    """How often an event has happened since the clerk last came."""

    __slots__ = ("answer_bytes", "at", "event", "open", "request_bytes", "requests")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.open = True
        self.requests = 0
        self.at = 0.0
        self.request_bytes = 0
        self.answer_bytes = 0

    def count(self, request_bytes: int, answer_bytes: int) -> None:
        """Count one request; of its sizes the last one's are kept."""
        self.requests += 1
        self.request_bytes = request_bytes
        self.answer_bytes = answer_bytes


class Journal:
    """The tallies of one worker that have not been written yet."""

    def __init__(self, counters: WorkerCounters) -> None:
        self._counters = counters
        self._pending: dict[Event, Tally] = {}
        self._closed: dict[tuple[Event, int], Tally] = {}

    def open(self, event: Event) -> Tally:
        """Give the tally of an event; a caller may keep it while it is open."""
        tally = self._pending.get(event)
        if tally is None:
            if len(self._pending) >= MAX_PENDING:
                return self._overflow(event)
            tally = self._pending[event] = Tally(event)
        return tally

    def note(self, event: Event, request_bytes: int, answer_bytes: int) -> None:
        self.open(event).count(request_bytes, answer_bytes)

    def close(self, wall: float) -> None:
        """Date and count what has happened, and have it ready to be fetched."""
        pending, self._pending = self._pending, {}
        for tally in pending.values():
            tally.open = False
            tally.at = wall
            event = tally.event
            self._counters.add((event.endpoint, event.code), tally.requests)
            self._keep(tally)

    def fetch(self) -> list[Tally]:
        """Hand over all that is to be written."""
        closed, self._closed = self._closed, {}
        return list(closed.values())

    def give_back(self, tallies: list[Tally]) -> None:
        """Keep what could not be written."""
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
