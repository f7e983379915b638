"""Rates and the last `created` of keys and addresses, in memory that workers share.

docs/decisions.md explains both. Each party (a key or an address) has a slot in an
open-addressed table of fixed size, in a mapping made before the fork. If all places
that a party may take are in use, it replaces the party that has been inactive longest.

The rate is a GCRA (generic cell rate algorithm): the time at which the party's bucket
is full again. It is the sum of two numbers: the intervals that all its requests have
taken, each worker's in an entry of its own, and a start, which is moved up whenever the
bucket has been full. A start that is written late is too early by no more than its
worker was held up.

For `created`, too, each worker has an entry of its own, and a slot has a turn: the
worker that used it last. A worker numbers an answer from its own entry alone. If it no
longer has the turn before it sends the answer, it takes the turn, reads the entries of
all workers and makes sure that its number is higher (`settle`). The upper half of such
an entry is how often `created` has begun again from the present, so the highest entry
is always the newest. The sum of the intervals is kept for the worker that has the turn,
which need not read all entries for the rate, either.
"""

import mmap
import random
import sys
import threading
import time
from hashlib import blake2b
from math import ceil

from readback.contract import (
    CREATED_LEAD_SECONDS,
    CREATED_REPEATS_AFTER,
    EARLIEST_CREATED,
)
from readback.shared_counters import rows_for

_PROBES = 8
_RECENT = 8192
# A slot has its owner, whose turn it is, the start (on the machine's monotonic clock),
# the sum, and the workers' entries. If answers are numbered, then what is reserved,
# until when nothing more is, where the last runs of `created` have ended, and the
# workers' entries for that. They are adjacent, so that a party touches one page; pages
# that are never touched cost nothing.
_RATE_NUMBERS = 4
_RESERVE_NUMBERS = 2
_RUNS = 4
_NOBODY = 0
# A run ends when `created` goes back, or forward by more than this.
_GAP_SECONDS = 500
# The lower half of an entry is a `created`; it lasts until the year 2106. The other
# is enough for two years of 100,000 answers a second to one key.
_SECONDS = (1 << 32) - 1
_LOWER_HALF = 0 if sys.byteorder == "little" else 4
# The turn is lost more often only if many workers answer one key without a pause.
_ATTEMPTS = 8
# How many numbers are reserved at most. A key that sends 20 requests a second needs 200
# in ten seconds.
_MAX_RESERVED = 256
# How long another host counts as one that answers the key as well.
_ELSEWHERE_SECONDS = 60.0


class Rates:
    """One rate for many parties. Create it before the workers are forked."""

    def __init__(
        self,
        rate: int,
        burst: int,
        slots: int = 262_144,
        workers: int = 1,
        *,
        extra_numbers: int = 0,
    ) -> None:
        self._interval = 1.0 / rate
        # How far ahead of the time a bucket may be full. Slightly more than the burst
        # without the request, because sums of intervals are not exact.
        self._allowance = (burst - 1 + 0.01) * self._interval
        self._slots = slots
        # One for each worker that may run at the same time.
        self._entries_per_slot = rows_for(workers)
        self._width = _RATE_NUMBERS + self._entries_per_slot + extra_numbers
        # Where parties were found last; the owner of the slot is checked again.
        self._recent: dict[bytes, tuple[int, int]] = {}
        self._memory = memoryview(mmap.mmap(-1, slots * self._width * 8))
        # A slot is identified by its first index, which is valid in all these views.
        self._owner = self._memory.cast("Q")
        self.turn = self._memory[8:].cast("q")
        self._start = self._memory[16:].cast("d")
        self._sum = self._memory[24:].cast("d")
        self._taken = self._memory[8 * _RATE_NUMBERS :].cast("d")
        self.join(0)

    def join(self, worker: int) -> None:
        """Say which worker this process is. Call this after the fork."""
        self.worker = worker + 1
        self._own = worker
        self._own_taken = self._taken[worker:]

    def slot(self, party: bytes) -> int:
        """Return the slot of a party; assign one if it has none."""
        owner, place = self._recent.get(party, (0, 0))
        if owner and self._owner[place] == owner:
            return place
        owner = int.from_bytes(blake2b(party, digest_size=8).digest(), "little") or 1
        place = self._find(owner)
        if len(self._recent) >= _RECENT:
            self._recent.clear()
        self._recent[party] = owner, place
        return place

    def has_slot(self, party: bytes, slot: int) -> bool:
        """Return whether a slot is the one where a party was found last."""
        owner, place = self._recent.get(party, (0, 0))
        return place == slot and self._owner[slot] == owner

    def _find(self, owner: int) -> int:
        width = self._width
        places = [(owner + step) % self._slots * width for step in range(_PROBES)]
        for place in places:
            if self._owner[place] == owner:
                return place
        free = min(places, key=self._full_at)  # an empty slot has 0
        # Another worker may find the same party now. An empty slot needs no care; only
        # in a full table both might clear it one after the other.
        if self._owner[free] not in (0, owner):
            for number in range(free, free + width - 1):  # all but the owner
                self.turn[number] = 0
        self._owner[free] = owner
        # Whoever answers first reads the entries of all workers.
        self.turn[free] = _NOBODY
        return free

    def take(self, slot: int, now: float) -> bool:
        """Count one request; return False if it is beyond the rate."""
        if self.turn[slot] == self.worker:
            taken = self._sum[slot]
        else:
            taken = self._sum_of_entries(slot)
            # Whoever has the turn must read all entries again.
            self.turn[slot] = _NOBODY
        full_at = self._start[slot] + taken
        if full_at < now:
            self._start[slot] = now - taken
            full_at = now
        if full_at - now > self._allowance:
            return False
        interval = self._interval
        self._own_taken[slot] += interval
        self._sum[slot] = taken + interval
        return True

    def retry_after(self, slot: int) -> int:
        """Return in how many whole seconds a request will be within the rate."""
        wait = self._full_at(slot) - self._allowance - time.monotonic()
        return max(1, ceil(wait))

    def _full_at(self, slot: int) -> float:
        return self._start[slot] + self._sum_of_entries(slot)

    def _sum_of_entries(self, slot: int) -> float:
        return sum(self._taken[slot : slot + self._entries_per_slot])


class Limiter(Rates):
    """The rate of each key, and the `created` of each of its answers."""

    def __init__(
        self, rate: int, burst: int, slots: int = 262_144, workers: int = 1
    ) -> None:
        numbers = _RESERVE_NUMBERS + _RUNS + rows_for(workers)
        super().__init__(rate, burst, slots, workers, extra_numbers=numbers)
        self.tick(time.monotonic(), time.time())

    def join(self, worker: int) -> None:
        super().join(worker)
        reserved = 8 * (_RATE_NUMBERS + self._entries_per_slot)
        run_ends = reserved + 8 * _RESERVE_NUMBERS
        entries = run_ends + 8 * _RUNS
        self._reserved = self._memory[reserved:].cast("q")
        self._elsewhere_until = self._memory[reserved + 8 :].cast("d")
        self._run_ends = self._memory[run_ends:].cast("q")
        self._entries = self._memory[entries:].cast("q")
        self._mine = self._entries[worker:]
        lower_halves = self._memory[entries + _LOWER_HALF :].cast("I")
        self._created = lower_halves[2 * worker :: 2]
        # Nobody else uses this lock. Taking it is a memory barrier: what this worker
        # has written is visible to the others before it reads what they have written.
        self._barrier = threading.Lock()

    def admit(self, slot: int, now: float) -> int:
        """Count one request and return its `created`; 0 if it is beyond the rate.

        For the `created`, the caller has the duty that `number` explains.
        """
        # The code of `take` and `number`, without the calls: most requests pass here.
        if self.turn[slot] == self.worker:
            taken = self._sum[slot]
        else:  # `settle` will take the turn
            taken = self._sum_of_entries(slot)
        full_at = self._start[slot] + taken
        if full_at < now:
            self._start[slot] = now - taken
            full_at = now
        if full_at - now > self._allowance:
            return 0
        interval = self._interval
        self._own_taken[slot] += interval
        self._sum[slot] = taken + interval
        created = self._created[slot] + 1
        if now >= self._second_ends or not self._second <= created <= self._latest:
            return self._renumber(slot, now)
        self._created[slot] = created
        return created

    def number(self, slot: int, now: float) -> int:
        """Return the `created` of one answer, which is later than the last one.

        It is valid if the `turn` of the slot is still this `worker` when the answer has
        been rendered, and not before; otherwise `settle` returns a valid one.
        """
        created = self._created[slot] + 1
        if now >= self._second_ends or not self._second <= created <= self._latest:
            return self._renumber(slot, now)
        self._created[slot] = created
        return created

    def settle(self, slot: int, now: float) -> int:
        """Return a `created` that no other worker of this host has given out."""
        for attempt in range(_ATTEMPTS):
            self.turn[slot] = self.worker
            with self._barrier:
                pass
            others = self._entries[slot : slot + self._entries_per_slot].tolist()
            mine = others.pop(self._own)
            highest = max(others, default=0)
            if highest >= mine:
                self._mine[slot] = self._next(slot, highest + 1, now)
            # The others may have counted since this worker did.
            self._sum[slot] = self._sum_of_entries(slot)
            with self._barrier:
                pass
            if self.turn[slot] == self.worker:
                break
            # Wait up to a microsecond at first: workers that retry in step would take
            # the turn from each other again and again.
            for _ in range(random.randrange(64 << attempt)):
                pass
        return self._mine[slot] & _SECONDS

    def last(self, slot: int) -> int:
        """Return how far this host has numbered the answers to a key."""
        return max(self._entries[slot : slot + self._entries_per_slot])

    def reserve(self, slot: int, advance: int, now: float) -> int:
        """Return how far the answers to a key are or will soon be numbered.

        The caller writes that to the database; `advance` is how much `created` has
        grown in this worker since the last time. The next time may be after twice as
        long, so twice as much is reserved, or twice the lead over the clock, to which
        all workers have contributed.
        """
        last = self.last(slot)
        created = last & _SECONDS
        if last and now >= self._elsewhere_until[slot]:
            wanted = 2 * max(advance, created - self._second)
            last += max(0, min(wanted, _MAX_RESERVED, self._latest - created))
        if last > self._reserved[slot]:
            self._reserved[slot] = last
        return self._reserved[slot]

    def is_beyond_reserve(self, slot: int) -> bool:
        """Return whether this worker has given out more than is reserved."""
        return self._mine[slot] > self._reserved[slot]

    def adopt(self, slot: int, last: int, now: float) -> None:
        """Continue after `last`, unless this host itself has reserved it."""
        reserved = self._reserved[slot]
        if last <= reserved or last <= self._mine[slot]:
            return
        if reserved:
            self._elsewhere_until[slot] = now + _ELSEWHERE_SECONDS
        self._mine[slot] = max(last, self.last(slot))
        with self._barrier:
            pass
        # Whoever has the turn must read all entries again.
        self.turn[slot] = _NOBODY

    def tick(self, now: float, wall: float) -> None:
        """Set the time. Call this regularly, because the wall clock may be changed."""
        self._wall_offset = max(wall, EARLIEST_CREATED) - now
        self._begin_second(now)

    def _begin_second(self, now: float) -> None:
        """Note the present second, when it ends, and the latest `created` in it."""
        wall = now + self._wall_offset
        self._second = second = int(wall)
        self._second_ends = now + 1 - (wall - second)
        self._latest = second + CREATED_LEAD_SECONDS

    def _renumber(self, slot: int, now: float) -> int:
        """Return a `created` that is not simply the one after the last."""
        last = self._mine[slot] = self._next(slot, self._mine[slot] + 1, now)
        return last & _SECONDS

    def _next(self, slot: int, last: int, now: float) -> int:
        """Return `last`, or what follows instead if its `created` cannot be used."""
        self._begin_second(now)
        created, present = last & _SECONDS, self._second
        if created > self._latest:
            self._end_run(slot, created - 1)
            return (last | _SECONDS) + 1 + self._unused(slot, present)
        if created >= present:
            return last
        if present - created > _GAP_SECONDS:
            self._end_run(slot, created - 1)
        return last - created + self._unused(slot, present)

    def _end_run(self, slot: int, end: int) -> None:
        ends = self._run_ends
        for number in range(slot, slot + _RUNS - 1):
            ends[number] = ends[number + 1]
        ends[slot + _RUNS - 1] = end

    def _unused(self, slot: int, present: int) -> int:
        """Return the present, or the next value that was not given out shortly before.

        After `created` went back, the clock follows over values that were given out one
        after the other before. The last of each run may not be repeated yet.
        """
        created = present
        for end in sorted(self._run_ends[slot : slot + _RUNS]):
            if end - CREATED_REPEATS_AFTER < created <= end:
                created = end + 1
        return created if created <= self._latest else present
