"""Unmatched requests: those without an accepted key, which no journal has.

A person who waits for a first request sees the ones from the address of their browser.
The event loop counts them (`UnmatchedRequests`), never more than a fixed number: in a
flood it goes on counting what it has, and drops what is new. The database thread writes
the rest. Neither a text nor a key is held.

The table has a fixed number of rows, its cells. A network owns a few of them, which it
may share with other networks, so neither a network nor all of them together can make
the table grow, and nothing has to be trimmed. Which cells follows from the digest of
the network; the address itself is not written.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from readback.api.data.dialects import Dialect, StoreError, marks
from readback.api.data.health import DependencyStatus, Health
from readback.client_address import network_digest
from readback.contract import (
    MAX_DETAIL_LENGTH,
    UNMATCHED_ROWS,
    UNMATCHED_SECONDS,
)

# Distinct unmatched requests of one worker that are written in one round. That many
# take the database thread 3 ms of CPU time.
CAPACITY = 32
CELLS = 4096
# How often to delete unmatched requests that are no longer shown.
EXPIRY_SECONDS = 30.0
# If they cannot be written, nothing else must wait for them again for this long.
UNMATCHED_RETRY_SECONDS = 1.0

_NETWORK_KEY = "SELECT key FROM cabinet_networkkey"
# Numbers of ours are part of the text: as values, hundreds of them would keep the event
# loop waiting for a millisecond.
_CELLS = "SELECT cell, digest, at FROM cabinet_unmatchedrequest WHERE cell IN ({cells})"
# In the order of their cells, so that two workers cannot deadlock.
_WRITE = """
INSERT INTO cabinet_unmatchedrequest AS old (cell, network, digest, at, endpoint, code,
    detail, user_agent, requests)
VALUES {rows}
ON CONFLICT (cell) DO UPDATE SET
    network = excluded.network, digest = excluded.digest, at = excluded.at,
    endpoint = excluded.endpoint, code = excluded.code, detail = excluded.detail,
    user_agent = excluded.user_agent,
    requests = excluded.requests + CASE
        WHEN old.digest = excluded.digest AND old.at >= ? THEN old.requests ELSE 0 END
"""
# What another worker has locked at this moment, it is writing or deleting itself. Rows
# from the future, after a clock was wrong, would keep their cells.
_DELETE_OLD = """
DELETE FROM cabinet_unmatchedrequest WHERE cell IN (
    SELECT cell FROM cabinet_unmatchedrequest WHERE at < ? OR at > ?
    ORDER BY cell {lock})
"""


class UnmatchedEvent(NamedTuple):
    """One kind of request without an accepted key, from one address."""

    address: str
    endpoint: str
    code: str
    detail: str
    user_agent: str


class UnmatchedRequests:
    """The unmatched requests of one worker that have not been written yet."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._counts: dict[tuple[str, str, str, str, str], int] = {}
        self._kinds: Counter[str] = Counter()

    def count(
        self, address: str, endpoint: str, code: str, detail: str, user_agent: str
    ) -> None:
        # A flood comes through here, and a plain tuple is made without a call.
        request = (address, endpoint, code, detail, user_agent)
        counts = self._counts
        if request in counts:
            counts[request] += 1
        # On a unix socket there is no address. One address cannot use up the capacity.
        elif (
            len(counts) < self._capacity
            and address
            and self._kinds[address] < UNMATCHED_ROWS
        ):
            self._kinds[address] += 1
            counts[request] = 1

    def fetch(self) -> dict[UnmatchedEvent, int]:
        """Return how often each has occurred since the last call."""
        counts, self._counts = self._counts, {}
        self._kinds.clear()
        return {UnmatchedEvent(*request): n for request, n in counts.items()}


class Cell(NamedTuple):
    """What a row holds: the digest of a request, and when it was last received."""

    digest: bytes
    at: Any  # as the column stores it; of two, the later one is greater


@dataclass(eq=False)
class UnmatchedTable:
    """Writes and deletes rows, with the `run` of a store."""

    _dialect: Dialect
    _run: Callable[[str, Sequence[Any]], Any]
    _key: bytes = b""

    def write(self, counts: Mapping[UnmatchedEvent, int], wall: float) -> None:
        """Write how often each request has occurred since the last time."""
        if not self._key:
            for (key,) in self._run(_NETWORK_KEY, ()).fetchall():
                self._key = bytes(key)
        if not self._key:
            return  # only if somebody has emptied the tables
        networks = {each: network_digest(each.address, self._key) for each in counts}
        wanted = {cell for network in networks.values() for cell in cells(network)}
        text = _CELLS.format(cells=", ".join(map(str, wanted)))
        found = self._run(text, ()).fetchall()
        held = {cell: Cell(bytes(digest), at) for cell, digest, at in found}
        rows: dict[int, tuple[Any, ...]] = {}
        for number, (request, network) in enumerate(networks.items()):
            detail = request.detail[:MAX_DETAIL_LENGTH]
            texts = (request.endpoint, request.code, detail, request.user_agent)
            # Equal for equal requests of one network, and for no others.
            words = "\0".join(texts).encode()
            digest = blake2b(words, key=network, digest_size=16).digest()
            cell = choose(digest, cells(network), held)
            # A microsecond apart, so that they are shown in the order of their arrival.
            at = self._dialect.moment(wall + number / 1e6)
            held[cell] = Cell(digest, at)
            rows[cell] = (cell, network, digest, at, *texts, counts[request])
        in_order = [rows[cell] for cell in sorted(rows)]
        text = _WRITE.format(rows=", ".join(f"({marks(row)})" for row in in_order))
        values = [value for row in in_order for value in row]
        self._run(text, [*values, self._dialect.moment(wall - UNMATCHED_SECONDS)])

    def delete_old(self, wall: float) -> None:
        """Delete the rows that are no longer shown."""
        # Ask again: a restored database may have another one.
        self._key = b""
        moment = self._dialect.moment
        shown = (moment(wall - UNMATCHED_SECONDS), moment(wall + UNMATCHED_SECONDS))
        self._run(_DELETE_OLD.format(lock=self._dialect.lock_skip_locked), shown)


class UnmatchedWriter:
    """When the table is written, and its old rows are deleted.

    What cannot be written is dropped, unless somebody else was writing.
    """

    def __init__(
        self,
        table: UnmatchedTable,
        health: Health,
        note_error: Callable[[DependencyStatus, Exception], None],
    ) -> None:
        self._table = table
        self._health = health
        self._note_error = note_error
        # What waits to be written, and when the last of it was counted.
        self.counts: Counter[UnmatchedEvent] = Counter()
        self._at = 0.0
        # After an error, it is dropped until then …
        self._dropped_until = 0.0
        # … and if somebody else was writing, it waits until then.
        self._write_due = 0.0
        self._next_expiry = time.monotonic() + random.uniform(0, EXPIRY_SECONDS)

    def add(self, counts: Mapping[UnmatchedEvent, int], at: float) -> None:
        """Add to what was to be written before, as far as there is room."""
        self._at = at
        for event, requests in counts.items():
            if event in self.counts or len(self.counts) < CAPACITY:
                self.counts[event] += requests

    @property
    def due(self) -> float:
        """When there is something to do."""
        due = self._next_expiry
        return min(due, self._write_due) if self.counts else due

    def work(self) -> None:
        """Do a little of what is due."""
        if self.counts and time.monotonic() >= self._write_due:
            self._write()
        else:
            self._delete_old()

    def _write(self) -> None:
        counts, self.counts = self.counts, Counter()
        now = time.monotonic()
        if self._health.reading.error or now < self._dropped_until:
            return
        try:
            self._table.write(counts, self._at)
        except Exception as error:
            self._note_error(self._health.unmatched, error)
            if isinstance(error, StoreError) and error.busy:
                self.counts = counts
                self._write_due = now + UNMATCHED_RETRY_SECONDS
                return
            self._dropped_until = now + UNMATCHED_RETRY_SECONDS
            self._next_expiry = min(self._next_expiry, self._dropped_until)
        else:
            self._health.unmatched.succeeded()

    def _delete_old(self) -> None:
        """Delete what is no longer shown, and find out whether an error has ended.

        There may be nothing to write for hours. A write that has just failed counts
        for more than a deletion that finds nothing.
        """
        now = time.monotonic()
        self._next_expiry = now + UNMATCHED_RETRY_SECONDS
        if self._health.reading.error:
            return
        try:
            self._table.delete_old(time.time())
        except Exception as error:
            self._note_error(self._health.unmatched, error)
        else:
            if now >= self._dropped_until + UNMATCHED_RETRY_SECONDS:
                self._health.unmatched.succeeded()
        if not self._health.unmatched.error:
            self._next_expiry = now + EXPIRY_SECONDS


def cells(network: bytes) -> range:
    """Return the cells of a network."""
    first = int.from_bytes(network[:4]) % (CELLS // UNMATCHED_ROWS) * UNMATCHED_ROWS
    return range(first, first + UNMATCHED_ROWS)


def choose(digest: bytes, own: range, held: Mapping[int, Cell]) -> int:
    """Return the cell that holds this request, else a free one, else the oldest.

    Two workers may choose at the same time. Equal requests begin at the same cell, and
    different ones at different cells.
    """
    for cell in own:
        if cell in held and held[cell].digest == digest:
            return cell
    start = digest[0] % len(own)
    in_turn: list[int] = [*own[start:], *own[:start]]
    free = [cell for cell in in_turn if cell not in held]
    return free[0] if free else min(own, key=lambda cell: held[cell].at)
