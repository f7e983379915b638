"""What happened, counted: equal outcomes are merged until they are written.

An outcome that is new, or that has not occurred for a while, is written in the same
round. While it goes on, it is written at growing intervals: the rows of a key follow
the number of its outcomes, not how long or how often it is used. A few callers with the
same outcome have a tally each, and all further ones share one.

Only the event loop's thread uses a journal. An event names a key by its digest: the id
of its row may belong to another key after the database was restored. An event never
contains a text, a body or a key.
"""

from collections.abc import Callable
from math import ceil, inf
from random import uniform
from typing import NamedTuple

from readback.api.shared.memory import ACCEPTED
from readback.contract import JOURNAL_ROWS, SEVERAL_ADDRESSES
from readback.shared_counters import WorkerCounters

# Between two rounds of a worker, each of which writes what is due.
ROUND_SECONDS = 0.5
# Callers with the same outcome that have a tally each. A caller is an address and what
# its program calls itself.
CALLERS = 4
# Outcomes that may wait to be written. With more, details are left out so that outcomes
# merge, and counts stay exact; with twice as many, new outcomes are dropped.
MAX_PENDING = 10_000
# Outcomes that may go on. With more, all are written in every round, and forgotten.
MAX_GOING_ON = 10_000


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
    def of_any_caller(self) -> "Event":
        """The outcome without what distinguishes one caller from another."""
        return self._replace(user_agent="", address=SEVERAL_ADDRESSES)

    @property
    def plain(self) -> "Event":
        """The outcome with nothing but its code."""
        return self.of_any_caller._replace(detail="", differences="")


# The fields of an `Event`, which is equal to them and takes longer to make.
EventFields = tuple[bytes, str, int, str, str, str, str, str]


class Tally:
    """How often an event has happened since it was last written."""

    # fmt: off
    __slots__ = (
        "answer_bytes", "at", "counted", "due", "event", "interval", "last_created",
        "open", "request_bytes", "requests",
    )
    # fmt: on

    def __init__(self, event: Event) -> None:
        self.event = event
        self.open = True
        self.requests = 0
        # How many of them the metrics contain, and when the last of these was added.
        self.counted = 0
        self.at = 0.0
        # When it may be written, on the monotonic clock.
        self.due = -inf
        self.interval = ROUND_SECONDS
        self.last_created = 0
        self.request_bytes = 0
        self.answer_bytes = 0

    def count(self, request_bytes: int, answer_bytes: int) -> None:
        """Count one request; the sizes kept are those of the last one."""
        self.requests += 1
        self.request_bytes = request_bytes
        self.answer_bytes = answer_bytes

    def take_counted(self, due: float) -> "Tally":
        """Return what the metrics contain as a tally that counts no more."""
        taken = Tally(self.event)
        taken.open = False
        taken.requests, taken.at, taken.due = self.counted, self.at, due
        taken.interval = self.interval
        taken.request_bytes = self.request_bytes
        taken.answer_bytes = self.answer_bytes
        self.requests -= self.counted
        self.counted = 0
        return taken


class Journal:
    """The tallies of one worker that go on or have not been written yet."""

    def __init__(
        self,
        counters: WorkerCounters,
        note_error: Callable[[Exception], None] = lambda error: None,
        longest_interval: float = 10.0,
    ) -> None:
        self._counters = counters
        # Called with each unexpected error of a single tally, which is then dropped.
        self._note_error = note_error
        self._longest = longest_interval
        self._hour = 0
        # The open tallies of each key, and how many they are.
        self._keys: dict[bytes, dict[EventFields, Tally]] = {}
        self._open = 0
        self._closed: dict[tuple[Event, int], Tally] = {}

    def open(self, fields: EventFields) -> Tally:
        """Return the tally of an event; a caller may keep it while it is open."""
        own = self._keys.get(fields[0])
        if own is None:
            return self._begin(Event(*fields), {})
        tally = own.get(fields)
        if tally is None:
            # Most often the address is new.
            tally = own.get((*fields[:6], SEVERAL_ADDRESSES, fields[7]))
        return tally or self._begin(Event(*fields), own)

    def note(self, fields: EventFields, request_bytes: int, answer_bytes: int) -> None:
        self.open(fields).count(request_bytes, answer_bytes)

    def close(
        self,
        now: float,
        wall: float,
        is_urgent: Callable[[bytes], bool] = lambda digest: False,
    ) -> None:
        """Count and date what has happened; close what is to be written.

        `is_urgent` returns whether what is known of a key must not wait.
        """
        hour, self._hour = self._hour, int(wall // 3600)
        is_crowded = self._open > MAX_GOING_ON
        at_once = is_crowded or not self._longest
        for tallies in list(self._keys.values()):
            for tally in list(tallies.values()):
                event = tally.event
                try:
                    if tally.counted and hour != self._hour:
                        # Usage is counted by hours.
                        self._keep(tally.take_counted(tally.due))
                    if new := tally.requests - tally.counted:
                        self._counters.add((event.endpoint, event.code), new)
                        tally.counted, tally.at = tally.requests, wall
                    if not tally.requests:
                        self._let_rest(tally, now)
                    elif at_once or now >= tally.due or is_urgent(event.digest):
                        self._keep(tally.take_counted(now))
                        self._defer(tally, now)
                    if is_crowded and tally.open:
                        self._forget(tally)
                except Exception as error:
                    self._note_error(error)
                    self.drop([tally])
                    if tally.open:
                        self._forget(tally)

    def fetch(
        self, now: float, last_created: Callable[[bytes, int], int]
    ) -> list[Tally]:
        """Return everything that is ready to be written.

        `last_created` returns how far the answers to a key will be numbered. Its second
        argument is how much `created` has grown by the requests or with the clock.
        """
        closed, self._closed = self._closed, {}
        ready = []
        for place, tally in closed.items():
            if tally.due > now and self._longest:
                self._closed[place] = tally
                continue
            try:
                advance = max(tally.requests, ceil(tally.interval))
                tally.last_created = last_created(tally.event.digest, advance)
            except Exception as error:
                self._note_error(error)
                self.drop([tally])
            else:
                ready.append(tally)
        return ready

    def give_back(self, tallies: list[Tally]) -> None:
        """Take back what could not be written."""
        for tally in tallies:
            self._keep(tally)

    def drop(self, tallies: list[Tally]) -> None:
        """Count what will never be written."""
        for tally in tallies:
            self._counters.add("journal_dropped", tally.requests)

    def hurry(self) -> None:
        """Write everything in every round from now on: the worker is stopping."""
        self._longest = 0.0

    def __len__(self) -> int:
        """Return how many rows are closed and not written."""
        return len(self._closed)

    def _begin(self, event: Event, own: dict[EventFields, Tally]) -> Tally:
        """Return a new tally, or the one that an event shares with similar ones."""
        for shared in (event.of_any_caller, event.plain):
            if shared in own:
                return own[shared]
        event = self._shared(event, own)
        tally = Tally(event)
        if self._open >= MAX_GOING_ON + 2 * MAX_PENDING:
            tally.open = False  # so that no caller keeps it
            self._counters.add((event.endpoint, event.code))
            self._counters.add("journal_dropped")
            return tally
        self._keys[event.digest] = own
        own[event] = tally
        self._open += 1
        return tally

    def _shared(self, event: Event, own: dict[EventFields, Tally]) -> Event:
        """Return an event as it is, or as it is counted together with others."""
        if self._open >= MAX_GOING_ON + MAX_PENDING or len(own) >= JOURNAL_ROWS:
            return event.plain
        alike = event.of_any_caller
        agents = [
            tally.event.user_agent
            for tally in own.values()
            if tally.event.of_any_caller == alike
        ]
        if len(agents) < CALLERS:
            return event
        if set(agents) == {event.user_agent}:
            return event._replace(address=SEVERAL_ADDRESSES)
        return alike

    def _defer(self, tally: Tally, now: float) -> None:
        """Set the next time for a tally that goes on."""
        grows = tally.interval < self._longest
        tally.interval = min(2 * tally.interval, self._longest)
        # So that what began together is not always written together.
        tally.due = now + tally.interval * (uniform(0.5, 1) if grows else 1)

    def _let_rest(self, tally: Tally, now: float) -> None:
        """Let the next request be written at once if an interval was without any."""
        if now < tally.due:
            return
        tally.interval = ROUND_SECONDS
        # Until then, the caller is one of the few.
        if now >= tally.due + self._longest:
            self._forget(tally)

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
        if len(self._closed) >= MAX_PENDING and (tally.event, hour) not in self._closed:
            tally.event = tally.event.plain
        held = self._closed.get((tally.event, hour))
        if held is not None:
            held.requests += tally.requests
            held.at = max(held.at, tally.at)
            held.due = min(held.due, tally.due)
        elif len(self._closed) < 2 * MAX_PENDING:
            self._closed[tally.event, hour] = tally
        else:
            self.drop([tally])
