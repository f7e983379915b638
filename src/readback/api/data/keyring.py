"""The keys that this worker knows, and the requests that wait for other keys.

`database.py` asks about every record twice a second and writes the result here, so
`accepted` is current wherever a record is held. Only the event loop uses a keyring.

A key is identified by its digest, because ids may change in a restore.
"""

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from readback.api.data.store import KeyRow, KeyRows
from readback.api.shared.limiter import Limiter

# A record unused for this long is forgotten; the next use looks it up again.
IDLE_SECONDS = 60.0
# The database counts as unavailable if it has not confirmed the records for this long.
UNAVAILABLE_SECONDS = 3.0
# How long a request waits for the database before it gets 503.
WAIT_SECONDS = 2.0
# How many keys that do not exist are remembered until the next tick.
MAX_ABSENT = 10_000


class Record:
    """One key that exists."""

    # fmt: off
    __slots__ = (
        "accepted", "digest", "exchanges", "row", "slot", "used_at", "waiting",
    )
    # fmt: on

    def __init__(self, row: KeyRow, slot: int, used_at: float) -> None:
        self.row = row
        self.digest = row.digest
        self.slot = slot
        self.used_at = used_at
        self.accepted = False
        # Responders for its requests. `Any`, because `Exchange` imports this module.
        self.exchanges: dict[Any, Any] = {}
        # How many of its requests are waiting, if it is a rehearsal key.
        self.waiting = 0


class DatabaseUnavailable:
    """The result of a look-up when the database could not be asked."""


UNAVAILABLE = DatabaseUnavailable()
# None means that the key does not exist.
Found = Record | DatabaseUnavailable | None
Waiter = Callable[[Found], None]


class Keyring:
    def __init__(
        self,
        limiter: Limiter,
        look_up: Callable[[bytes], None],
        grace: float,
    ) -> None:
        self._limiter = limiter
        self._look_up = look_up
        self._grace = grace
        self._records: dict[bytes, Record] = {}
        # Returns the record of a digest, if any.
        self.find = self._records.get
        self._waiting: dict[bytes, tuple[float, list[Waiter]]] = {}
        self._absent: set[bytes] = set()
        self.confirmed_at = -inf
        self.now = time.monotonic()

    def is_absent(self, digest: bytes) -> bool:
        """Return whether the key was looked up since the last tick and not found."""
        return digest in self._absent

    def last_created(self, digest: bytes) -> int:
        """Return the last `created` of a key; 0 if it is not known."""
        record = self._records.get(digest)
        return self._limiter.last(record.slot) if record else 0

    def wait(self, digest: bytes, waiter: Waiter) -> None:
        """Look up a key, and call the waiter with the result.

        A connection has at most one waiter, so their number is bounded.
        """
        if digest in self._waiting:
            self._waiting[digest][1].append(waiter)
        else:
            self._waiting[digest] = (time.monotonic(), [waiter])
            self._look_up(digest)

    @property
    def is_trusted(self) -> bool:
        """Whether the records were confirmed recently enough to rely on them."""
        return self.now - self.confirmed_at <= self._grace

    def learn(self, asked: Sequence[bytes], rows: KeyRows) -> None:
        """Store what the database returned for these keys."""
        for digest in asked:
            self._tell(digest, self._learn(digest, rows.get(digest)))

    def fail(self, asked: Sequence[bytes]) -> None:
        """Tell the waiters that the database could not be asked about these keys."""
        for digest in asked:
            self._tell(digest, self._records.get(digest) or UNAVAILABLE)

    def confirm(self, asked_at: float) -> None:
        self.confirmed_at = asked_at

    def tick(self, now: float, wall: float) -> list[bytes]:
        """Forget records that are too old, and return the digests to refresh."""
        self.now = now
        self._absent.clear()
        # While the database is unavailable, unused records stay, because they could not
        # be looked up again. Once they are no longer trusted, all are forgotten.
        unused_since = inf
        if self.is_trusted:
            unavailable = now - self.confirmed_at > UNAVAILABLE_SECONDS
            unused_since = -inf if unavailable else now - IDLE_SECONDS
        for digest, record in list(self._records.items()):
            if record.used_at < unused_since:
                self._forget(digest)
            elif (expires_at := record.row.expires_at) is not None:
                record.accepted &= expires_at > wall
        for digest, (since, _) in list(self._waiting.items()):
            if now - since > WAIT_SECONDS:
                self._tell(digest, UNAVAILABLE)
        return list(self._records)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def _learn(self, digest: bytes, row: KeyRow | None) -> Record | None:
        record = self._records.get(digest)
        if row is None:
            self._forget(digest)
            if len(self._absent) < MAX_ABSENT:
                self._absent.add(digest)
            return None
        if record is None and digest not in self._waiting:
            return None  # it was forgotten in the meantime
        # Another key may have taken the slot.
        slot = self._limiter.slot(digest, row.last_created)
        if record is None:
            record = self._records[digest] = Record(row, slot, self.now)
        record.row = row
        record.slot = slot
        expired = row.expires_at is not None and row.expires_at <= time.time()
        record.accepted = row.accepted and not expired
        return record

    def _forget(self, digest: bytes) -> None:
        record = self._records.pop(digest, None)
        if record is not None:
            record.accepted = False
            record.exchanges.clear()  # they keep the record, too

    def _tell(self, digest: bytes, found: Found) -> None:
        if digest not in self._waiting:
            return
        _, waiters = self._waiting.pop(digest)
        for waiter in waiters:
            waiter(found)
