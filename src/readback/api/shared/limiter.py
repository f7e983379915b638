"""Each key's rate and last `created`, shared by all workers on a host.

The table is mapped before the workers are forked. Each key has a slot with four
numbers. To change a slot, a worker locks it for about a microsecond, unless no other
worker is running.

A lock covers one byte of an empty file. When a process ends, the kernel releases its
locks, so a killed worker delays no one. A worker that is paused keeps its lock; others
wait for at most LOCK_SECONDS and then go on without it. When the paused worker
continues, it may overwrite one slot with older numbers, once.
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

# 8 MiB of address space; pages that are never touched take no memory.
SLOTS = 262_144
# A slot's numbers: its owner, when its bucket is full again (monotonic time), the
# last `created`, and how many steps a rehearsal key has taken.
_NUMBERS = 4
# How many slots are tried for a key. If all are taken, the key takes over the slot of
# the key that has been inactive longest.
_PROBES = 8
LOCK_SECONDS = 0.05


class Limiter:
    """The shared table. Only event loops use it."""

    def __init__(self, rate: float, burst: int, slots: int = SLOTS) -> None:
        """Allow each key this rate and burst; a rate of 0 means no limit.

        The algorithm is GCRA (generic cell rate algorithm): each request postpones the
        time at which the bucket is full by one interval.
        """
        self._interval = 1 / rate if rate else 0.0
        # How far in the future a bucket's "full" time may be. The 0.01 allows for
        # rounding errors.
        self._allowance = (burst - 1 + 0.01) * self._interval if rate else inf
        self._slots = slots
        memory = memoryview(mmap.mmap(-1, slots * _NUMBERS * 8))
        # A slot is the index of its first number; each view begins at a different one.
        self._owner = memory.cast("q")
        self._full_at = memory[8:].cast("d")
        self._last = memory[16:].cast("q")
        self._steps = memory[24:].cast("q")
        self._locks = Locks()
        # The lock to hold while a key gets its slot.
        self._owners = slots * _NUMBERS

    def lock_only_beside(self, other_worker: memoryview) -> None:
        """Lock only while this number in shared memory is not 0."""
        self._locks.rival = other_worker

    def admit(self, slot: int, now: float) -> bool:
        """Count a request against the rate limit; return False if it is exceeded."""
        is_locked = self._locks.acquire(slot)
        try:
            return self._take(slot, now)
        finally:
            if is_locked:
                self._locks.release()

    def number(self, slot: int, now: float) -> int:
        """Count a request against the rate limit; return the answer's `created`, or 0.

        A new `created` differs from that of the key's previous answer. 0 means that the
        limit is exceeded.
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
        return self._wait(slot) > 0

    def retry_after(self, slot: int) -> int:
        return max(1, ceil(self._wait(slot)))

    def take_step(self, slot: int) -> int:
        """Count a step of a rehearsal key; return how many it had taken before."""
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
        """Return a key's slot. Another key may take it over later.

        In a new slot, `created` continues after `last`.
        """
        # All workers compute the same hash, because they inherit its seed. An empty
        # slot has the owner 0.
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
        slot = min(places, key=self._full_at.__getitem__)  # empty slots have 0
        self._full_at[slot] = monotonic()
        self._last[slot] = last
        self._steps[slot] = 0
        self._owner[slot] = owner
        return slot


class Locks:
    """Numbered POSIX locks for forked processes, each on one byte of a file.

    A process holds at most one of them. Closing any descriptor of the file would
    release it, so the only descriptor is never copied. The table is not in this file,
    because `mmap` copies the descriptor.
    """

    def __init__(self) -> None:
        self._file = file = _empty_file()
        finalize(self, os.close, file)
        # While this number is 0, no other process uses the table.
        self.rival = memoryview(b"\x01")
        # Every request calls these, so they are C functions without a Python wrapper.
        self._try = partial(lockf, file, LOCK_EX | LOCK_NB, 1)
        self.release = partial(lockf, file, LOCK_UN)
        # Locks that could not be acquired in time and have not been free since.
        self._stuck: set[int] = set()

    def acquire(self, number: int) -> bool:
        """Take a lock; return False if there is no need to, or if another process holds
        it for too long.
        """
        if not self.rival[0]:
            return False
        try:
            self._try(number)
        except BlockingIOError:
            return self._wait(number)
        if self._stuck:
            self._stuck.discard(number)
        return True

    def _wait(self, number: int) -> bool:
        if number in self._stuck:
            return False  # an earlier request has already timed out
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
    if hasattr(os, "memfd_create"):
        return os.memfd_create("readback-locks")
    file, path = tempfile.mkstemp()
    os.unlink(path)
    return file
