"""The rate and the `created` of each key, in a table that all workers of a host share.

The table is mapped before the workers are forked. A key has a slot of four numbers. A
worker that changes a slot locks it for about a microsecond.

The lock is a byte of an empty file. The kernel unlocks it when the process that has
locked it ends, so a killed worker delays no one. A worker that is paused meanwhile
keeps its lock, so others wait for at most LOCK_SECONDS and then go on without it. When
the paused worker continues, it may set one slot back, once.
"""

import mmap
import os
import tempfile
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, lockf
from functools import partial
from math import ceil, inf
from time import monotonic, time
from weakref import finalize

from readback.contract import CREATED_LEAD_SECONDS, EARLIEST_CREATED

# 8 MiB are mapped; pages that are never touched cost nothing.
SLOTS = 262_144
# Its owner, when its bucket is full again (on the monotonic clock), its last `created`,
# and how many steps a rehearsal key has taken.
_NUMBERS = 4
# A key may be in any of this many slots. If others have all of them, it takes the slot
# of the key that has been inactive longest.
_PROBES = 8
LOCK_SECONDS = 0.05


class Limiter:
    """The shared table. Only event loops use it."""

    def __init__(self, rate: float, burst: int, slots: int = SLOTS) -> None:
        """Allow each key a rate and a burst; a rate of 0 means any number of requests.

        The rate is a GCRA (generic cell rate algorithm): each request moves the time at
        which the bucket is full by an interval.
        """
        self._interval = 1 / rate if rate else 0.0
        # How far ahead that time may be. The 0.01 allows for rounding errors of sums.
        self._allowance = (burst - 1 + 0.01) * self._interval if rate else inf
        self._slots = slots
        memory = memoryview(mmap.mmap(-1, slots * _NUMBERS * 8))
        # A slot is the index of its first number, in all these views.
        self._owner = memory.cast("q")
        self._full_at = memory[8:].cast("d")
        self._last = memory[16:].cast("q")
        self._steps = memory[24:].cast("q")
        self._locks = Locks()
        # The lock held while a slot is assigned to a key.
        self._owners = slots * _NUMBERS

    def admit(self, slot: int, now: float) -> bool:
        """Count a request against the rate limit; return False if it is exceeded."""
        is_locked = self._locks.acquire(slot)
        try:
            return self._take(slot, now)
        finally:
            if is_locked:
                self._locks.release()

    def number(self, slot: int, now: float) -> int:
        """Count a request against the rate limit; return the answer's `created`.

        It always differs from the last one. If the limit is exceeded, it is 0.
        """
        present = int(time())
        if present < EARLIEST_CREATED:
            present = EARLIEST_CREATED
        is_locked = self._locks.acquire(slot)
        try:
            if not self._take(slot, now):
                return 0
            created = self._last[slot] + 1
            if not present < created <= present + CREATED_LEAD_SECONDS:
                created = present
            self._last[slot] = created
            return created
        finally:
            if is_locked:
                self._locks.release()

    def is_used_up(self, slot: int) -> bool:
        """Return whether a request would exceed the rate limit."""
        return self._wait(slot) > 0

    def retry_after(self, slot: int) -> int:
        """Return after how many whole seconds the next request will be accepted."""
        return max(1, ceil(self._wait(slot)))

    def take_step(self, slot: int) -> int:
        """Return how many steps a rehearsal key has taken before this one."""
        is_locked = self._locks.acquire(slot)
        try:
            taken = self._steps[slot]
            self._steps[slot] = taken + 1
            return taken
        finally:
            if is_locked:
                self._locks.release()

    def last(self, slot: int) -> int:
        return self._last[slot]

    def slot(self, digest: bytes, last: int = 0) -> int:
        """Return the slot of a key, which another key may take later.

        A new slot continues after `last`.
        """
        # Forked processes have the seed of their parent. Empty slots have the owner 0.
        owner = hash(digest) or 1
        slot = self._find(owner)
        if slot is None:
            is_locked = self._locks.acquire(self._owners)
            try:
                slot = self._find(owner)  # another worker may have been faster
                if slot is None:
                    slot = self._assign(owner, last)
            finally:
                if is_locked:
                    self._locks.release()
        return slot

    def _take(self, slot: int, now: float) -> bool:
        full_at = self._full_at[slot]
        if full_at < now:
            full_at = now
        if full_at - now > self._allowance:
            return False
        self._full_at[slot] = full_at + self._interval
        return True

    def _wait(self, slot: int) -> float:
        return self._full_at[slot] - self._allowance - monotonic()

    def _find(self, owner: int) -> int | None:
        for probe in range(_PROBES):
            slot = (owner + probe) % self._slots * _NUMBERS
            if self._owner[slot] == owner:
                return slot
        return None

    def _assign(self, owner: int, last: int) -> int:
        places = [(owner + n) % self._slots * _NUMBERS for n in range(_PROBES)]
        slot = min(places, key=self._full_at.__getitem__)  # 0 for an empty slot
        self._full_at[slot] = monotonic()
        self._last[slot] = last
        self._steps[slot] = 0
        self._owner[slot] = owner
        return slot


class Locks:
    """Numbered locks between forked processes: POSIX locks of the bytes of a file.

    A process has one lock at a time. If it closed any descriptor of this file, it would
    lose it, so the only descriptor is never copied. `mmap` would copy it, so the table
    is not in this file.
    """

    def __init__(self) -> None:
        self._file = file = _empty_file()
        finalize(self, os.close, file)
        # Every request needs these, so they are system calls without a frame of ours.
        self._try = partial(lockf, file, LOCK_EX | LOCK_NB, 1)
        self.release = partial(lockf, file, LOCK_UN)
        # Locks that were held for too long, and have not been free since.
        self._stuck: set[int] = set()

    def acquire(self, number: int) -> bool:
        """Lock; return False if another process holds the lock for too long."""
        try:
            self._try(number)
        except BlockingIOError:
            return self._wait(number)
        if self._stuck:
            self._stuck.discard(number)
        return True

    def _wait(self, number: int) -> bool:
        if number in self._stuck:
            return False  # one request has waited, which is enough
        deadline = monotonic() + LOCK_SECONDS
        while monotonic() < deadline:
            os.sched_yield()
            try:
                self._try(number)
            except BlockingIOError:
                continue
            return True
        self._stuck.add(number)
        return False


def _empty_file() -> int:
    """Return the descriptor of a file without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("readback-locks")
    file, path = tempfile.mkstemp()
    os.unlink(path)
    return file
