"""What happened, counted: identical outcomes are merged until they are written.

The first few times, an outcome is written at the next tick. While it goes on, it is
written once per interval: a key's rows depend on the number of its outcomes, not on how
long or how often it is used, or from how many addresses.

Only the event loop uses a journal. An event never contains a text, a body or a key; the
key is identified by its digest, because ids may change in a restore.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from random import uniform
from typing import NamedTuple

from readback.api.shared.memory import ACCEPTED
from readback.client_address import address_in, shorten
from readback.contract import JOURNAL_ROWS, SEVERAL_ADDRESSES
from readback.processes.shared_counters import WorkerCounters

# How many times an outcome is written immediately before it waits for its interval.
AT_ONCE = 3
# How many tallies may be open or waiting to be written. Beyond that, details are left
# out so that outcomes merge and counts stay exact. If twice as many wait, further ones
# are dropped.
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
    differences: str = ""

    @property
    def accepted(self) -> bool:
        return self.code == ACCEPTED

    @property
    def plain(self) -> "Event":
        """The outcome with only its code."""
        return self._replace(user_agent="", detail="", differences="")


class Tally:
    """How often an event happened since it was last written."""

    # fmt: off
    __slots__ = (
        "answer_bytes", "at", "counted", "due", "event", "last_created", "merges",
        "open", "request_bytes", "requests", "sender",
    )
    # fmt: on

    def __init__(self, event: Event, merges: bool = False) -> None:
        self.event = event
        # Whether it counts events that differ in what `Event.plain` omits.
        self.merges = merges
        self.open = True
        # The address of all its requests, or SEVERAL_ADDRESSES. While it is open, this
        # may be an entry of X-Forwarded-For, which is read only if another one differs.
        self.sender = SEVERAL_ADDRESSES if merges else ""
        self.requests = 0
        # How many are in the metrics already, and when the last one was added.
        self.counted = 0
        self.at = 0.0
        # When it may again be written as often as a new one (a GCRA; see `limiter.py`).
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
        """Return the counts as a closed tally."""
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
    """The tallies of one worker that are open or have not been written."""

    def __init__(self, counters: WorkerCounters, interval: float = 10.0) -> None:
        self._counters = counters
        self._interval = interval
        # The open tallies of each key, and their number.
        self._keys: dict[bytes, dict[Event, Tally]] = {}
        self._open = 0
        # The tallies to write, by event and hour.
        self._closed: dict[tuple[Event, int], Tally] = {}

    def open(self, event: Event) -> Tally:
        """Return the tally of an event; a caller may keep it while it is open."""
        own = self._keys.setdefault(event.digest, {})
        return own.get(event) or self._begin(event, own)

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

    def _begin(self, event: Event, own: dict[Event, Tally]) -> Tally:
        """Return a new tally, or the one that an event shares with similar ones."""
        is_crowded = len(self) + self._open >= MAX_TALLIES
        merges = is_crowded or len(own) >= JOURNAL_ROWS  # more than are shown
        if merges:
            event = event.plain
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
        """Keep a closed tally; identical events within one hour merge."""
        hour = int(tally.at // 3600)
        if len(self) >= MAX_TALLIES and (tally.event, hour) not in self._closed:
            tally.event = tally.event.plain
            tally.sender = SEVERAL_ADDRESSES
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
