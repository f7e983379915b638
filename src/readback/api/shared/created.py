"""The `created` of each answer to a key, beside the rate of the key.

docs/decisions.md explains it. All workers of a host number the answers to a key
from one sequence, without a lock: a worker that hangs or dies must not stop the others.
A worker claims a block of numbers, and gives out each of them once.

A number has two halves. The lower one is a `created`; the upper one is how often
`created` has begun again from the present, so a higher number is always a newer one.

The protocol of a claim. A slot has a turn, and each worker has an entry in it: the last
number that this worker has ever claimed.

    1  write who I am into the turn
    2  barrier
    3  read the entries of all workers; the block begins after the highest
    4  write the end of the block into my entry
    5  barrier
    6  read the turn: if it is still mine, the block is mine; otherwise begin again

Proof that no number is given out twice. Let the last attempts of two claims, of workers
A and B, have succeeded. If B had written the turn between A's steps 1 and 6, A would
have read it in step 6, and failed. So no step 1 of one lies within the steps of the
other, and one of them, say A's, ended before the other began. Then A's entry was
written (4, 5) before B read it (2, 3), and B's block begins after A's. An entry only
grows, so whatever a worker writes late, or in an attempt that fails, skips numbers, and
never returns any. A worker that dies takes the rest of its block with it.

If the turn is A's already when a claim begins, nobody has claimed anything since A read
the entries, because a claim begins with the turn: A leaves out steps 1 to 3. Nor has
anybody counted a request, because that begins with the turn as well: A still knows how
much of the rate is left.
"""

import random
import threading
import time

from readback.api.shared.rates import NOBODY, RATE_NUMBERS, SLOTS, Rates
from readback.contract import (
    CREATED_LEAD_SECONDS,
    CREATED_REPEATS_AFTER,
    EARLIEST_CREATED,
)
from readback.processes.shared_counters import rows_for

# In a slot, after the rate: what is reserved, until when nothing more is, where the
# last runs of `created` have ended, and the workers' entries.
_RESERVED, _ELSEWHERE, _RUN_ENDS = range(3)
_RUNS = 4
_OWN_NUMBERS = _RUN_ENDS + _RUNS
# A run ends when `created` goes back, or forward by more than this.
_GAP_SECONDS = 500
# Its last numbers must not be repeated within 1000 answers. Some were given out late,
# but not if the highest one is so far ahead: then the rest of a block is dropped. All
# blocks together are a quarter of that, so a quarter of the numbers may be dropped.
_REPEATS_AFTER = 7 * CREATED_REPEATS_AFTER // 4
_FAR_AHEAD = 256
_MAX_BLOCK = 16
# The lower half of a number lasts until the year 2106. The other is enough for two
# years of 100,000 answers a second to one key.
_SECONDS = (1 << 32) - 1
# How many numbers are reserved at most. A key that sends 20 requests a second needs 200
# in ten seconds.
_MAX_RESERVED = 256
# How long another host counts as one that answers the key as well.
_ELSEWHERE_SECONDS = 60.0


class _Share:
    """What one worker has of a slot.

    Except for the numbers it has claimed, it is valid while the turn is the worker's;
    then `_catch_up` reads it again.
    """

    __slots__ = ("full_at", "highest", "last", "next", "taken", "taken_by_others")

    def __init__(self) -> None:
        # When the bucket is full, and the intervals that its requests have taken.
        self.full_at = self.taken = self.taken_by_others = 0.0
        # The next number of the block, and the last one; the highest of all workers.
        self.next = self.last = self.highest = 0


class Limiter(Rates):
    """The rate of each key, and the `created` of each of its answers."""

    def __init__(
        self, rate: int, burst: int, slots: int = SLOTS, workers: int = 1
    ) -> None:
        numbers = _OWN_NUMBERS + rows_for(workers)
        super().__init__(rate, burst, slots, workers, extra_numbers=numbers)
        self.tick(time.monotonic(), time.time())

    def join(self, worker: int) -> None:
        super().join(worker)
        first = RATE_NUMBERS + self._entries_per_slot
        views = [self._memory[8 * (first + n) :] for n in range(_OWN_NUMBERS + 1)]
        self._reserved = views[_RESERVED].cast("q")
        self._elsewhere_until = views[_ELSEWHERE].cast("d")
        self._run_ends = views[_RUN_ENDS].cast("q")
        self._entries = views[_OWN_NUMBERS].cast("q")
        self._mine = self._entries[worker:]
        # By slot. Only keys that exist get this far.
        self._shares: dict[int, _Share] = {}
        # How many numbers a block has, if the lead over the clock is at least this.
        entries = self._entries_per_slot
        self._block = max(1, min(_MAX_BLOCK, _FAR_AHEAD // (4 * entries)))
        self._blocks_from = 8 * entries
        # Nobody else uses this lock. Releasing and then taking it is a full memory
        # barrier, also on ARM: others see what this worker has written before it reads
        # on.
        self._lock = threading.Lock()
        self._lock.acquire()

    def admit(self, slot: int, now: float) -> int:
        """Count one request and return its `created`; 0 if it is beyond the rate."""
        # The code of `take` and `number`, without the calls: most requests pass here.
        if self._turn[slot] == self._worker:
            share = self._shares[slot]
        else:
            share = self._catch_up(slot)
        full_at = share.full_at
        if full_at < now:
            self._start[slot] = now - share.taken - share.taken_by_others
            full_at = now
        elif full_at - now > self._allowance:
            return 0
        share.full_at = full_at + self._interval
        self._own_taken[slot] = share.taken = share.taken + self._interval
        if now >= self._second_ends:
            self._begin_second(now)
        number = share.next
        if number > share.last:
            return self._claim(slot, share)
        created = number & _SECONDS
        if not self._second <= created <= self._latest:
            return self._claim(slot, share)
        share.next = number + 1
        return created

    def number(self, slot: int, now: float) -> int:
        """Return the `created` of an answer whose request was counted before."""
        share = self._catch_up(slot)
        if now >= self._second_ends:
            self._begin_second(now)
        number = share.next
        created = number & _SECONDS
        if number > share.last or not self._second <= created <= self._latest:
            return self._claim(slot, share)
        share.next = number + 1
        return created

    def _catch_up(self, slot: int) -> _Share:
        """Take the turn, and find out what other workers have done.

        If they are far ahead, or have begun again, the rest of a block comes too late.
        """
        share = self._shares.get(slot)
        if share is None:
            share = self._shares[slot] = _Share()
        self._turn[slot] = self._worker  # 1
        self._barrier()  # 2
        share.highest = self.last(slot)  # 3
        share.last = self._mine[slot]
        if share.highest - share.next > _FAR_AHEAD:
            share.next = share.last + 1
        taken = self._sum(slot)
        share.full_at = self._start[slot] + taken
        share.taken = self._own_taken[slot]
        share.taken_by_others = taken - share.taken
        return share

    def last(self, slot: int) -> int:
        """Return the highest number that a worker of this host has claimed."""
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
        """Return whether this worker has claimed more than is reserved."""
        return self._mine[slot] > self._reserved[slot]

    def adopt(self, slot: int, last: int, now: float) -> None:
        """Continue after `last`, unless this host itself has reserved it."""
        reserved = self._reserved[slot]
        if last <= reserved or last <= self._mine[slot]:
            return
        if reserved:
            self._elsewhere_until[slot] = now + _ELSEWHERE_SECONDS
        share = self._catch_up(slot)
        self._mine[slot] = share.last = max(last, share.highest)
        share.next = share.last + 1  # nothing is left of its block
        self._barrier()
        # Whoever has the turn must read all entries again.
        self._turn[slot] = NOBODY

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

    def _claim(self, slot: int, share: _Share) -> int:
        """Return the first `created` of a new block; see the top of this file."""
        attempt = 0
        while True:
            first = last = share.highest + 1
            lead = (first & _SECONDS) - self._second
            if not 0 <= lead <= CREATED_LEAD_SECONDS:
                first = last = self._instead_of(slot, first)
            # A key that is not far ahead of the clock gets one number at a time. If
            # another host answers as well, the rest of a block would be skipped.
            elif (
                lead >= self._blocks_from
                and self._elsewhere_until[slot] <= self._second_ends
            ):
                last += min(self._block - 1, CREATED_LEAD_SECONDS - lead)
            self._mine[slot] = share.last = share.highest = last  # 4
            self._barrier()  # 5
            if self._turn[slot] == self._worker:  # 6
                share.next = first + 1
                return first & _SECONDS
            # Wait up to a microsecond at first: workers that retry in step would take
            # the turn from each other again and again.
            for _ in range(random.randrange(64 << min(attempt, 8))):
                pass
            attempt += 1
            self._catch_up(slot)

    def _barrier(self) -> None:
        self._lock.release()
        self._lock.acquire()

    def _instead_of(self, slot: int, number: int) -> int:
        """Return what follows instead of a number whose `created` cannot be used."""
        created, present = number & _SECONDS, self._second
        if created > self._latest:
            self._end_run(slot, created - 1)
            return (number | _SECONDS) + 1 + self._unused(slot, present)
        unused = self._unused(slot, present)
        if unused - created > _GAP_SECONDS:
            self._end_run(slot, created - 1)
        return number - created + unused

    def _end_run(self, slot: int, end: int) -> None:
        ends, last = self._run_ends, slot + _RUNS - 1
        if ends[last] == end:
            return  # by an attempt that has failed
        for number in range(slot, last):
            ends[number] = ends[number + 1]
        ends[last] = end

    def _unused(self, slot: int, present: int) -> int:
        """Return the present, or the next value that was not given out shortly before.

        After `created` went back, the clock follows over values that were given out one
        after the other before. The last of each run may not be repeated yet.
        """
        created = present
        if not self._run_ends[slot + _RUNS - 1]:
            return created  # no run has ended yet
        for end in sorted(self._run_ends[slot : slot + _RUNS]):
            if end - _REPEATS_AFTER < created <= end:
                created = end + 1
        return created if created <= self._latest else present
