"""What happened, counted: equal outcomes are merged until they are written.

The first few times, an outcome is written at the next tick. While it goes on, it is
written once in an interval: the rows of a key follow the number of its outcomes, not
how long or how often it is used. A few addresses with the same outcome have a tally
each, and all others share one, so a client whose address changes with every request
causes no more rows than any other.

Only the event loop uses a journal. An event never contains a text, a body or a key; the
key is identified by its digest, because ids may change in a restore.
"""

from collections.abc import Callable, Collection, Iterator
from itertools import islice
from random import uniform
from typing import NamedTuple

from readback.api.shared.memory import ACCEPTED
from readback.contract import JOURNAL_ROWS, SEVERAL_ADDRESSES
from readback.processes.shared_counters import WorkerCounters

# How many times an outcome is written immediately before it waits for its interval.
AT_ONCE = 3
# Addresses with the same outcome that have a tally each.
CALLERS = 4
# How many tallies may be open or wait to be written. Beyond that, details are left out
# so that outcomes merge and counts stay exact. If twice as many wait, further ones are
# dropped.
MAX_TALLIES = 15_000
# This many take a millisecond.
_CLOSED_AT_A_TIME = 100


class Event(NamedTuple):
    """One outcome for one key, as its owner sees it."""

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
    def of_several(self) -> "Event":
        """The outcome without the address of the caller."""
        return self._replace(address=SEVERAL_ADDRESSES)

    @property
    def plain(self) -> "Event":
        """The outcome with only its code."""
        return self.of_several._replace(user_agent="", detail="", differences="")


# Equal to an `Event` with these fields, but faster to create.
EventFields = tuple[bytes, str, int, str, str, str, str, str]


class Tally:
    """How often an event has happened since it was last written."""

    # fmt: off
    __slots__ = (
        "alone", "answer_bytes", "at", "counted", "due", "event", "last_created",
        "open", "request_bytes", "requests",
    )
    # fmt: on

    def __init__(
        self, event: Event, alone: Collection[str] | None = None, requests: int = 0
    ) -> None:
        self.event = event
        # If several addresses share this tally: those that have their own.
        self.alone = alone
        self.open = True
        self.requests = requests
        # How many of them are in the metrics, and when the last one was added.
        self.counted = 0
        self.at = 0.0
        # When it may again be written as often as a new one (a GCRA; see `limiter.py`).
        self.due = 0.0
        self.last_created = 0
        self.request_bytes = 0
        self.answer_bytes = 0

    def counts(self, address: str) -> bool:
        """Return whether several addresses share this row, and this is one of them."""
        return self.open and self.alone is not None and address not in self.alone

    def count(self, request_bytes: int, answer_bytes: int) -> None:
        self.requests += 1
        self.request_bytes = request_bytes
        self.answer_bytes = answer_bytes

    def take(self) -> "Tally":
        """Return what was counted, as a closed tally."""
        taken = Tally(self.event, self.alone, self.requests)
        taken.open = False
        taken.at = self.at
        taken.request_bytes = self.request_bytes
        taken.answer_bytes = self.answer_bytes
        self.requests = self.counted = 0
        return taken


class Journal:
    """The tallies of one worker that are open or have not been written."""

    def __init__(self, counters: WorkerCounters, interval: float = 10.0) -> None:
        self._counters = counters
        self._interval = interval
        # The open tallies of each key, and their number.
        self._keys: dict[bytes, dict[EventFields, Tally]] = {}
        self._open = 0
        # The tallies that are to be written, by event and hour.
        self._closed: dict[tuple[Event, int], Tally] = {}

    def open(self, fields: EventFields) -> Tally:
        """Return the tally of an event; a caller may keep it while it is open."""
        own = self._keys.get(fields[0])
        if own is None:
            own = self._keys[fields[0]] = {}
        tally = own.get(fields)
        if tally is None:
            # Most often the address is new.
            tally = own.get((*fields[:6], SEVERAL_ADDRESSES, fields[7]))
        return tally or self._begin(Event(*fields), own)

    def note(self, fields: EventFields, request_bytes: int, answer_bytes: int) -> None:
        self.open(fields).count(request_bytes, answer_bytes)

    def close(self, now: float, wall: float) -> None:
        """Update counts and times, and close the tallies that are due."""
        for _ in self.close_in_parts(now, wall):
            pass

    def close_in_parts(self, now: float, wall: float) -> Iterator[None]:
        """Like `close`, but yield often: thousands of tallies take a while."""
        tallies = [tally for own in self._keys.values() for tally in own.values()]
        for number, tally in enumerate(tallies, 1):
            self._close(tally, now, wall)
            if number % _CLOSED_AT_A_TIME == 0:
                yield

    def fetch(self, most: int, last_created: Callable[[bytes], int]) -> list[Tally]:
        """Return tallies to write, with the current `created` of each key."""
        first = list(islice(self._closed, most))
        ready = [self._closed.pop(each) for each in first]
        for tally in ready:
            tally.last_created = last_created(tally.event.digest)
        return ready

    def give_back(self, tallies: list[Tally]) -> None:
        for tally in tallies:
            self._keep(tally)

    def drop(self, tallies: list[Tally]) -> None:
        for tally in tallies:
            self._counters.add("journal_dropped", tally.requests)

    def hurry(self) -> None:
        """Write everything at every tick from now on."""
        self._interval = 0.0

    def __len__(self) -> int:
        return len(self._closed)

    def _begin(self, event: Event, own: dict[EventFields, Tally]) -> Tally:
        """Return a new tally, or the one that an event shares with similar ones."""
        alike = event.of_several
        alone = None
        is_crowded = len(self) + self._open >= MAX_TALLIES
        if is_crowded or len(own) >= JOURNAL_ROWS:  # more than are shown
            event = event.plain
        else:
            others = [tally.event for tally in own.values()]
            callers = {each.address for each in others if each.of_several == alike}
            if len(callers) >= CALLERS:
                event = alike
                alone = callers
        if event not in own:
            own[event] = Tally(event, alone)
            self._open += 1
        return own[event]

    def _close(self, tally: Tally, now: float, wall: float) -> None:
        interval = self._interval
        event = tally.event
        if new := tally.requests - tally.counted:
            self._counters.add((event.endpoint, event.code), new)
            tally.counted = tally.requests
            tally.at = wall
        if not tally.requests:
            if now >= tally.due:
                self._forget(tally)
        elif not interval or now >= tally.due - (AT_ONCE - 1) * interval:
            self._keep(tally.take())
            # Outcomes that began together are not always written together.
            share = uniform(0.5, 1) if tally.due <= now else 1.0
            tally.due = max(tally.due, now) + share * interval

    def _forget(self, tally: Tally) -> None:
        tally.open = False
        digest = tally.event.digest
        own = self._keys[digest]
        del own[tally.event]
        if not own:
            del self._keys[digest]
        self._open -= 1

    def _keep(self, tally: Tally) -> None:
        """Keep a closed tally; equal events of one hour merge."""
        hour = int(tally.at // 3600)
        if len(self) >= MAX_TALLIES and (tally.event, hour) not in self._closed:
            tally.event = tally.event.plain
        held = self._closed.get((tally.event, hour))
        if held is not None:
            held.requests += tally.requests
            held.at = max(held.at, tally.at)
        elif len(self) < 2 * MAX_TALLIES:
            self._closed[tally.event, hour] = tally
        else:
            self.drop([tally])
