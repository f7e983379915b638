"""The keys this worker knows, in memory, and who waits for one it does not know yet.

A record is looked up by its digest, or held by a connection whose client repeats its
head; either way `accepted` is the present truth: the clerk asks the database again
about every record twice a second, and what it learns is written here. Only the event
loop's thread comes here; no I/O, no lock.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from math import inf

from readback.api.data.store import KeyRow
from readback.api.shared.limiter import Limiter

# A record that nobody has used for so long is forgotten; the next use asks again.
IDLE_SECONDS = 60.0
# The database counts as away when it has not answered about all records for so long.
AWAY_SECONDS = 3.0
# How long a request may wait for the database before it is told to come back.
WAIT_SECONDS = 2.0
# Keys that may wait at the same time: more are turned away, not queued.
MAX_WAITING = 50_000
# Keys that do not exist are remembered until the next tick: so many at most.
MAX_ABSENT = 10_000


class Record:
    """One key that exists."""

    __slots__ = ("accepted", "digest", "expires_at", "key_id", "slot", "used_at")

    def __init__(self, digest: bytes, key_id: int, slot: int, used_at: float) -> None:
        self.digest = digest
        self.key_id = key_id
        self.slot = slot
        self.used_at = used_at
        self.expires_at: float | None = None
        self.accepted = False


# Called with the record, None if there is no such key, or UNAVAILABLE.
Waiter = Callable[["Record | None | DatabaseUnavailable"], None]


class DatabaseUnavailable:
    """Says that the database could not be asked."""


UNAVAILABLE = DatabaseUnavailable()


class Keyring:
    """All records of one worker."""

    def __init__(self, limiter: Limiter, ask: Callable[[bytes], None], grace: float):
        self._limiter = limiter
        self._ask = ask
        self._grace = grace
        self._records: dict[bytes, Record] = {}
        self._waiting: dict[bytes, tuple[float, list[Waiter]]] = {}
        self._absent: set[bytes] = set()
        self._checked_at = -inf
        self.now = time.monotonic()

    def find(self, digest: bytes) -> Record | None:
        return self._records.get(digest)

    def is_absent(self, digest: bytes) -> bool:
        """Tell whether the database has said just now that there is no such key."""
        return digest in self._absent

    def wait(self, digest: bytes, waiter: Waiter) -> None:
        """Ask the clerk about a key, and call the waiter when the answer is here."""
        if digest in self._waiting:
            self._waiting[digest][1].append(waiter)
        elif len(self._waiting) < MAX_WAITING:
            # By the clock, not by the last tick: under load that may be long ago.
            self._waiting[digest] = (time.monotonic(), [waiter])
            self._ask(digest)
        else:
            # Never before `wait` has returned: nobody listens for it until then.
            asyncio.get_running_loop().call_soon(waiter, UNAVAILABLE)

    @property
    def is_trusted(self) -> bool:
        """Whether the database has answered lately enough to go by what is here."""
        return self.now - self._checked_at <= self._grace

    def learn(self, asked: Sequence[bytes], rows: Mapping[bytes, KeyRow]) -> None:
        """Take in what the database says of the keys asked about."""
        for digest in asked:
            row = rows.get(digest)
            if row is None:
                self._forget(digest)
                if len(self._absent) < MAX_ABSENT:
                    self._absent.add(digest)
                self._tell(digest, None)
            elif digest in self._records or digest in self._waiting:
                self._tell(digest, self._update(row))

    def lose(self, asked: Sequence[bytes]) -> None:
        """Take in that the database could not be asked about these."""
        for digest in asked:
            self._tell(digest, self._records.get(digest) or UNAVAILABLE)

    def confirm(self, asked_at: float) -> None:
        """Take in that the database has answered about all records."""
        self._checked_at = asked_at

    def tick(self, now: float, wall: float) -> list[bytes]:
        """Let time pass; give the digests that are to be asked about again."""
        self.now = now
        self._absent.clear()
        self._expire(wall)
        self._drop_records(now)
        for digest, (since, _) in list(self._waiting.items()):
            if now - since > WAIT_SECONDS:
                self._tell(digest, UNAVAILABLE)
        return list(self._records)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def _expire(self, wall: float) -> None:
        for record in self._records.values():
            if record.expires_at is not None and record.expires_at <= wall:
                record.accepted = False

    def _drop_records(self, now: float) -> None:
        """Forget who has been quiet; while the database is away, nobody, and then all.

        Who is forgotten while it is away cannot come back.
        """
        away = now - self._checked_at > AWAY_SECONDS
        for digest, record in list(self._records.items()):
            quiet = now - record.used_at > IDLE_SECONDS and not away
            if quiet or not self.is_trusted:
                self._forget(digest)

    def _update(self, row: KeyRow) -> Record:
        record = self._records.get(row.digest)
        # The slot is looked up each time: another key may have taken it.
        slot = self._limiter.slot(row.digest)
        if record is None:
            record = Record(row.digest, row.key_id, slot, self.now)
            self._records[row.digest] = record
        record.slot = slot
        record.expires_at = row.expires_at
        expired = row.expires_at is not None and row.expires_at <= time.time()
        record.accepted = row.accepted and not expired
        return record

    def _forget(self, digest: bytes) -> None:
        record = self._records.pop(digest, None)
        if record is not None:
            record.accepted = False

    def _tell(
        self, digest: bytes, answer: "Record | None | DatabaseUnavailable"
    ) -> None:
        _, waiters = self._waiting.pop(digest, (0.0, []))
        for waiter in waiters:
            waiter(answer)
