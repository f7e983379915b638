"""Rates and the last `created` of keys and addresses, in memory all workers share.

gunicorn forks its workers, so an anonymous mapping made before the fork belongs to
all of them: no lock, no server. Each party (a key or an address) has a slot in an
open-addressed table of fixed size: memory is bounded whoever comes, and when the few
places a party may take are full, the one that has been quiet longest gives way.

The rate is GCRA: per slot one number, the time at which the party's bucket would be
full again. Two workers may now and then read the same number before either writes;
the error is a request or so in thousands, and it is the price of no lock.
"""

import mmap
import time
from hashlib import blake2b
from math import ceil

from readback.contract import CREATED_LEAD_SECONDS

_PROBES = 8
_RECENT = 1024
# A slot has four numbers: whose it is, when its bucket is full again (on the
# machine's monotonic clock), the last `created` given out, and nothing. Together, so
# that a party touches one page of memory, and pages that nobody touches cost nothing.
_WIDTH = 4


class Limiter:
    """One rate for many parties. Make it before the workers are forked."""

    def __init__(self, rate: int, burst: int, slots: int = 262_144) -> None:
        self.interval = 1.0 / rate
        # A little more than the burst: sums of intervals are not exact.
        self.allowance = (burst + 0.01) * self.interval
        self._slots = slots
        # Where parties were found lately; whether they are still there is looked at.
        self._recent: dict[bytes, tuple[int, int]] = {}
        self.tick(time.monotonic(), time.time())
        self._memory = mmap.mmap(-1, slots * _WIDTH * 8)
        view = memoryview(self._memory)
        # The number of a slot is where it begins, so it indexes all three.
        self._owner = view.cast("Q")
        self._full_at = view[8:].cast("d")
        self._created = view[16:].cast("q")

    def slot(self, party: bytes) -> int:
        """Find or take the slot of a party."""
        mark, place = self._recent.get(party, (0, 0))
        if mark and self._owner[place] == mark:
            return place
        mark = _mark(party)
        place = self._find(mark)
        if len(self._recent) >= _RECENT:
            self._recent.clear()
        self._recent[party] = mark, place
        return place

    def _find(self, mark: int) -> int:
        places = self._places(mark)
        for place in places:
            if self._owner[place] == mark:
                return place
        free = min(places, key=self._full_at.__getitem__)  # an empty slot has 0
        self._owner[free] = mark
        self._full_at[free] = 0.0
        self._created[free] = 0
        return free

    def _places(self, mark: int) -> list[int]:
        return [(mark + step) % self._slots * _WIDTH for step in range(_PROBES)]

    def take(self, slot: int, now: float) -> bool:
        """Count one request; False if that is more than the rate allows."""
        full_at = self._full_at[slot]
        if full_at < now:
            full_at = now
        full_at += self.interval
        if full_at - now > self.allowance:
            return False
        self._full_at[slot] = full_at
        return True

    def retry_after(self, slot: int) -> int:
        """Say in how many whole seconds one request will be within the rate."""
        wait = self._full_at[slot] + self.interval - self.allowance - time.monotonic()
        return max(1, ceil(wait))

    def admit(self, slot: int, now: float) -> int:
        """Count one request and give its `created`; 0 if the rate is used up.

        `created` is later than the last one, a minute ahead of the clock at most.
        """
        # `take` again, without the call: this is the way of every accepted request.
        full_at = self._full_at[slot]
        if full_at < now:
            full_at = now
        full_at += self.interval
        if full_at - now > self.allowance:
            return 0
        self._full_at[slot] = full_at
        created, wall = self._created[slot] + 1, now + self._wall_offset
        if created < wall:
            created = int(wall)
        elif created > wall + CREATED_LEAD_SECONDS:
            created = int(wall) + CREATED_LEAD_SECONDS
        self._created[slot] = created
        return created

    def tick(self, now: float, wall: float) -> None:
        """Take in what time it is; to be called now and then, as clocks are set."""
        self._wall_offset = wall - now


def _mark(party: bytes) -> int:
    return int.from_bytes(blake2b(party, digest_size=8).digest(), "little") or 1
