"""Rates of keys and addresses, in memory that all workers of a host share.

Each party (a key or an address) has a slot in an open-addressed table of fixed size, in
a mapping made before the fork. If all places that a party may take are in use, it
replaces the party that has been inactive longest.

The rate is a GCRA (generic cell rate algorithm): the time at which the party's bucket
is full again. It is the sum of two numbers: the intervals that all its requests have
taken, each worker's in an entry of its own, and a start, which is moved up whenever the
bucket has been full. A start that is written late is too early by no more than its
worker was held up. A worker writes no entry but its own, so nothing is lost if several
count at the same moment.
"""

import mmap
import secrets
import time
from math import ceil

from readback.processes.shared_counters import rows_for

SLOTS = 262_144
# How much memory a table may map; pages that are never touched cost nothing. With many
# workers, it has fewer slots.
TABLE_BYTES = 128 << 20
_PROBES = 8
# A slot has its owner, the turn (see `created.py`), the start (on the machine's
# monotonic clock) and the workers' entries; and what a subclass adds. They are
# adjacent, so that a party touches one page.
RATE_NUMBERS = 3
NOBODY = 0


class Rates:
    """One rate for many parties. Create it before the workers are forked."""

    def __init__(
        self,
        rate: int,
        burst: int,
        slots: int = SLOTS,
        workers: int = 1,
        *,
        extra_numbers: int = 0,
    ) -> None:
        self._interval = 1.0 / rate
        # How far ahead of the time a bucket may be full. Slightly more than the burst
        # without the request, because sums of intervals are not exact.
        self._allowance = (burst - 1 + 0.01) * self._interval
        # One for each worker that may run at the same time.
        self._entries_per_slot = rows_for(workers)
        self._width = RATE_NUMBERS + self._entries_per_slot + extra_numbers
        self.slots = min(slots, TABLE_BYTES // (8 * self._width))
        self._memory = memoryview(mmap.mmap(-1, self.slots * self._width * 8))
        # A slot is identified by its first index, which is valid in all these views.
        self._owner = self._numbers = self._memory.cast("q")
        self._turn = self._memory[8:].cast("q")
        self._start = self._memory[16:].cast("d")
        self._taken = self._memory[8 * RATE_NUMBERS :].cast("d")
        self.join(0)

    def join(self, worker: int) -> None:
        """Say which worker this process is. Call this after the fork."""
        # The process, not the row: one that replaces another knows nothing of its own.
        self._worker = secrets.randbits(62) + 1  # never NOBODY
        self._own_taken = self._taken[worker:]

    def slot(self, party: bytes) -> int:
        """Return the slot of a party; assign one if it has none."""
        owner = _owner(party)
        for step in range(_PROBES):
            slot = (owner + step) % self.slots * self._width
            if self._owner[slot] == owner:
                return slot
        places = [(owner + n) % self.slots * self._width for n in range(_PROBES)]
        # Another worker may just have assigned one of them. Otherwise an empty one is
        # taken, or that of the party that has been inactive longest.
        order = {owner: 0, 0: 1}
        free = min(
            places,
            key=lambda slot: (order.get(self._owner[slot], 2), self._full_at(slot)),
        )
        # Only in a full table might two workers clear a slot one after the other.
        if self._owner[free] not in order:
            for number in range(free + 1, free + self._width):  # all but the owner
                self._numbers[number] = 0
        self._owner[free] = owner
        return free

    def has_slot(self, party: bytes, slot: int) -> bool:
        """Return whether a slot still belongs to a party."""
        return self._owner[slot] == _owner(party)

    def take(self, slot: int, now: float) -> bool:
        """Count one request; return False if it is beyond the rate."""
        self._turn[slot] = NOBODY  # so that nobody relies on an older sum
        taken = self._sum(slot)
        full_at = self._start[slot] + taken
        if full_at < now:
            self._start[slot] = now - taken
            full_at = now
        if full_at - now > self._allowance:
            return False
        self._own_taken[slot] += self._interval
        return True

    def retry_after(self, slot: int) -> int:
        """Return in how many whole seconds a request will be within the rate."""
        wait = self._full_at(slot) - self._allowance - time.monotonic()
        return max(1, ceil(wait))

    def _full_at(self, slot: int) -> float:
        return self._start[slot] + self._sum(slot)

    def _sum(self, slot: int) -> float:
        return sum(self._taken[slot : slot + self._entries_per_slot])


def _owner(party: bytes) -> int:
    """Return the number of a party, which is never that of an empty slot.

    The hash is keyed, so nobody can choose a name that displaces another party. Forked
    workers have the key of their master.
    """
    return hash(party) or 1
