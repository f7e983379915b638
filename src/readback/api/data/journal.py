"""Count the outcomes of requests; identical ones are merged until they are written.

The first few times, an outcome is written at the next tick; after that, once per
interval. So the number of rows that a key adds per interval depends on how many
different outcomes it has, not on how often or from how many addresses it is used.

Only the event loop uses a journal. An event never contains a body, its text or a key.
Keys are identified by their digests, because restoring a backup may change ids.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from random import uniform
from typing import NamedTuple

from readback.api.shared.counters import ACCEPTED
from readback.client_address import address_in, shorten
from readback.contract import JOURNAL_ROWS, SEVERAL_ADDRESSES
from readback.processes.shared_counters import WorkerCounters

# How many times an outcome is written at the next tick, before it waits for its
# interval.
AT_ONCE = 3
# How many tallies may be open, or waiting to be written. Above that, details are left
# out, so that outcomes merge and counts stay exact. If twice as many are waiting,
# further ones are dropped.
MAX_TALLIES = 15_000
# How many tallies are closed in one step, which takes a millisecond.
_CLOSED_AT_A_TIME = 100


class Event(NamedTuple):
    """One outcome of a key's requests, as the key's owner sees it."""

    digest: bytes
    endpoint: str
    status: int
    code: str
    detail: str
    user_agent: str
    differences: str = ""

    @property
    def accepted(self) -> bool:
        return self.code == ACCEPTED


class Tally:
    """How often an event has happened since it was last written."""

    def __init__(self, event: Event, merges: bool = False) -> None:
        self.event = event
        # Whether this tally also counts events that differ in details.
        self.merges = merges
        self.open = True
        # The address of all requests, or SEVERAL_ADDRESSES. While the tally is open, it
        # may be an entry of X-Forwarded-For, which is only parsed when another entry
        # differs.
        self.sender = SEVERAL_ADDRESSES if merges else ""
        self.requests = 0
        # How many of these requests are in the metrics, and when the last were added.
        self.counted = 0
        self.at = 0.0
        # When the event may again be written as often as a new one (a GCRA, see
        # `limiter.py`).
        self.due = 0.0
        self.last_created = 0
        self.request_bytes = 0
        self.answer_bytes = 0

    def count(self, sender: str, request_bytes: int, answer_bytes: int) -> None:
        if sender != self.sender and self.sender != SEVERAL_ADDRESSES:
            is_first = not self.requests
            is_same = is_first or _address(sender) == _address(self.sender)
            self.sender = sender if is_same else SEVERAL_ADDRESSES
        self.requests += 1
        self.request_bytes = request_bytes
        self.answer_bytes = answer_bytes

    def take(self) -> "Tally":
        """Return the counts so far as a closed tally, and start again from 0."""
        taken = Tally(self.event, self.merges)
        taken.open = False
        taken.sender = _address(self.sender)
        taken.requests = self.requests
        taken.at = self.at
        taken.request_bytes = self.request_bytes
        taken.answer_bytes = self.answer_bytes
        self.requests = self.counted = 0
        self.sender = SEVERAL_ADDRESSES if self.merges else ""
        return taken


class Journal:
    """The tallies of one worker that have not been written yet."""

    def __init__(self, counters: WorkerCounters, interval: float = 10.0) -> None:
        self._counters = counters
        self._interval = interval
        # Each key's open tallies, and how many tallies are open in all.
        self._keys: dict[bytes, dict[Event, Tally]] = {}
        self._open = 0
        # The tallies that are ready to be written, by event and hour.
        self._closed: dict[tuple[Event, int], Tally] = {}

    def open(self, event: Event) -> Tally:
        """Return the tally of an event, which the caller may use while it is open."""
        own = self._keys.setdefault(event.digest, {})
        return own.get(event) or self._begin(event, own)

    def close(self, now: float, wall: float) -> None:
        """Update counts and times, and close all tallies that are due."""
        for _ in self.close_in_parts(now, wall):
            pass

    def close_in_parts(self, now: float, wall: float) -> Iterator[None]:
        """Do what `close` does, in steps, because thousands of tallies take a while."""
        tallies = [tally for own in self._keys.values() for tally in own.values()]
        for number, tally in enumerate(tallies, 1):
            self._close(tally, now, wall)
            if number % _CLOSED_AT_A_TIME == 0:
                yield

    def fetch(self, most: int, last_created: Callable[[bytes], int]) -> list[Tally]:
        """Return tallies to write, with each key's latest `created`."""
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
        """From now on, write everything at the next tick."""
        self._interval = 0.0

    def __len__(self) -> int:
        return len(self._closed)

    def _begin(self, event: Event, own: dict[Event, Tally]) -> Tally:
        """Return a new tally, or one that the event shares with similar events."""
        is_crowded = len(self) + self._open >= MAX_TALLIES
        # The pages show no more than JOURNAL_ROWS rows.
        merges = is_crowded or len(own) >= JOURNAL_ROWS
        if merges:
            event = event._replace(user_agent="", detail="", differences="")
        if event not in own:
            own[event] = Tally(event, merges)
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
            # The interval varies at random, so that events that began together are not
            # always written together.
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
        """Store a closed tally, or add it to one of the same event and hour."""
        hour = int(tally.at // 3600)
        held = self._closed.get((tally.event, hour))
        if held is not None:
            held.requests += tally.requests
            held.at = max(held.at, tally.at)
            if held.sender != tally.sender:
                held.sender = SEVERAL_ADDRESSES
        elif len(self) < 2 * MAX_TALLIES:
            self._closed[tally.event, hour] = tally
        else:
            self.drop([tally])


def _address(sender: str) -> str:
    if sender == SEVERAL_ADDRESSES:
        return sender
    return shorten(address_in(sender))
