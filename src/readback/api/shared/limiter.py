"""Rates and the last `created` of keys and addresses, in memory that workers share.

gunicorn forks its workers, so an anonymous mapping made before the fork belongs to all
of them, without a lock and without a server. Each party (a key or an address) has a
slot in an open-addressed table of fixed size, so memory is bounded however many parties
there are. If all places that a party may take are in use, it replaces the party that
has been inactive longest.

The rate is a GCRA (generic cell rate algorithm): per slot one number, the time at which
the party's bucket is full again. Two workers may read the same number before either
writes; the error is about one request in thousands, and the price of not locking.
"""

import mmap
import time
from hashlib import blake2b
from math import ceil

from readback.contract import CREATED_LEAD_SECONDS

_PROBES = 8
_RECENT = 1024
# A slot has four numbers: its owner, when the bucket is full again (on the machine's
# monotonic clock), the last `created`, and padding. They are adjacent, so that a party
# touches one page of memory; pages that are never touched cost nothing.
_WIDTH = 4


class Limiter:
    """One rate for many parties. Create it before the workers are forked."""

    def __init__(self, rate: int, burst: int, slots: int = 262_144) -> None:
        self._interval = 1.0 / rate
        # Slightly more than the burst, because sums of intervals are not exact.
        self._allowance = (burst + 0.01) * self._interval
        self._slots = slots
        # Where parties were found last; the owner of the slot is checked again.
        self._recent: dict[bytes, tuple[int, int]] = {}
        self.tick(time.monotonic(), time.time())
        self._memory = mmap.mmap(-1, slots * _WIDTH * 8)
        view = memoryview(self._memory)
        # A slot is identified by its first index, which is valid in all three views.
        self._owner = view.cast("Q")
        self._full_at = view[8:].cast("d")
        self._created = view[16:].cast("q")

    def slot(self, party: bytes) -> int:
        """Return the slot of a party; assign one if it has none."""
        owner, place = self._recent.get(party, (0, 0))
        if owner and self._owner[place] == owner:
            return place
        owner = _fingerprint(party)
        place = self._find(owner)
        if len(self._recent) >= _RECENT:
            self._recent.clear()
        self._recent[party] = owner, place
        return place

    def _find(self, owner: int) -> int:
        places = self._places(owner)
        for place in places:
            if self._owner[place] == owner:
                return place
        free = min(places, key=self._full_at.__getitem__)  # an empty slot has 0
        self._owner[free] = owner
        self._full_at[free] = 0.0
        self._created[free] = 0
        return free

    def _places(self, owner: int) -> list[int]:
        return [(owner + step) % self._slots * _WIDTH for step in range(_PROBES)]

    def take(self, slot: int, now: float) -> bool:
        """Count one request; return False if it is beyond the rate."""
        full_at = self._full_at[slot]
        if full_at < now:
            full_at = now
        full_at += self._interval
        if full_at - now > self._allowance:
            return False
        self._full_at[slot] = full_at
        return True

    def retry_after(self, slot: int) -> int:
        """Return in how many whole seconds a request will be within the rate."""
        wait = self._full_at[slot] + self._interval - self._allowance - time.monotonic()
        return max(1, ceil(wait))

    def admit(self, slot: int, now: float) -> int:
        """Count one request and return its `created`; 0 if it is beyond the rate.

        `created` is later than the last one, but at most a minute ahead of the clock.
        """
        # The code of `take`, without the call: every accepted request passes here.
        full_at = self._full_at[slot]
        if full_at < now:
            full_at = now
        full_at += self._interval
        if full_at - now > self._allowance:
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
        """Set the time. Call this regularly, because the wall clock may be changed."""
        self._wall_offset = wall - now


def _fingerprint(party: bytes) -> int:
    return int.from_bytes(blake2b(party, digest_size=8).digest(), "little") or 1
