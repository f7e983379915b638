"""The keys that this worker knows, and the requests that wait for other keys.

`database.py` refreshes all records twice a second, so code that holds a record sees an
up-to-date `accepted`. Only the event loop uses a keyring.

Keys are identified by their digests, because restoring a backup may change ids.
"""

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from readback.api.data.store import KeyRow, KeyRows
from readback.api.shared.limiter import Limiter

# A record that is unused for this long is forgotten; the key's next use looks it up.
IDLE_SECONDS = 60.0
# If no refresh has succeeded for this long, the database counts as unavailable.
UNAVAILABLE_SECONDS = 3.0
# How long a request waits for its key to be looked up before it gets 503.
WAIT_SECONDS = 2.0
# How many non-existent keys are remembered until the next tick.
MAX_ABSENT = 10_000


class Record:
    """A key that exists."""

    def __init__(self, row: KeyRow, slot: int, used_at: float) -> None:
        self.row = row
        self.digest = row.digest
        self.slot = slot
        self.used_at = used_at
        self.accepted = False
        # These answer the key's requests. `Any` avoids a circular import.
        self.exchanges: dict[Any, Any] = {}
        # How many of a rehearsal key's requests are waiting.
        self.waiting = 0


class DatabaseUnavailable:
    """The database could not be queried for a key."""


UNAVAILABLE = DatabaseUnavailable()
# None if the key does not exist.
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
        # Whether a key does not exist, according to a look-up since the last tick.
        self.is_absent = self._absent.__contains__
        # When the last refresh that has succeeded began.
        self.confirmed_at = -inf
        self.now = time.monotonic()

    def last_created(self, digest: bytes) -> int:
        """Return the last `created` of a key, or 0 if the key is unknown."""
        record = self._records.get(digest)
        return self._limiter.last(record.slot) if record else 0

    def wait(self, digest: bytes, waiter: Waiter) -> None:
        """Look up a key, and call the waiter with the result.

        Each connection has at most one waiter, which limits the number of waiters.
        """
        if digest in self._waiting:
            self._waiting[digest][1].append(waiter)
        else:
            self._waiting[digest] = (time.monotonic(), [waiter])
            self._look_up(digest)

    @property
    def is_trusted(self) -> bool:
        """Whether the last refresh is recent enough to rely on the records."""
        return self.now - self.confirmed_at <= self._grace

    def learn(self, asked: Sequence[bytes], rows: KeyRows) -> None:
        """Store what the database says about these keys."""
        for digest in asked:
            self._tell(digest, self._learn(digest, rows.get(digest)))

    def fail(self, asked: Sequence[bytes]) -> None:
        """Tell those who wait for these keys that the database cannot be queried."""
        for digest in asked:
            self._tell(digest, self._records.get(digest) or UNAVAILABLE)

    def tick(self, now: float, wall: float) -> list[bytes]:
        """Forget records that are too old; return the digests to refresh."""
        self.now = now
        self._absent.clear()
        # While the database is unavailable, unused records are kept, because they could
        # not be looked up again. When records can no longer be trusted, all are
        # forgotten.
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
            return None  # the key was forgotten in the meantime
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
            record.exchanges.clear()  # each of them refers to the record

    def _tell(self, digest: bytes, found: Found) -> None:
        if digest not in self._waiting:
            return
        _, waiters = self._waiting.pop(digest)
        for waiter in waiters:
            waiter(found)
