"""Unmatched requests: those without an accepted key, which no journal has.

A person who waits for a first request sees the ones from the address of their browser.
The event loop counts them (`UnmatchedRequests`), never more than a fixed number: in a
flood it goes on counting what it has, and drops what is new. The database thread writes
the rest as rows, and deletes them after a few minutes. Neither a text nor a key is
held.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping

from readback.api.data.dialects import StoreError
from readback.api.data.health import DependencyStatus, Health
from readback.api.data.store import Store, UnmatchedEvent
from readback.contract import UNMATCHED_ROWS

# Distinct unmatched requests of one worker that are written in one round.
CAPACITY = 32
# How often to delete unmatched requests that are no longer shown.
EXPIRY_SECONDS = 30.0
# If they cannot be written, nothing else must wait for them again for this long.
UNMATCHED_RETRY_SECONDS = 1.0


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


class UnmatchedWriter:
    """When the table is written, and its old rows are deleted.

    What cannot be written is dropped, unless somebody else was writing.
    """

    def __init__(
        self,
        store: Store,
        health: Health,
        note_error: Callable[[DependencyStatus, Exception], None],
    ) -> None:
        self._store = store
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
            self._store.write_unmatched(counts, self._at)
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
            self._store.delete_unmatched(time.time())
        except Exception as error:
            self._note_error(self._health.unmatched, error)
        else:
            if now >= self._dropped_until + UNMATCHED_RETRY_SECONDS:
                self._health.unmatched.succeeded()
        if not self._health.unmatched.error:
            self._next_expiry = now + EXPIRY_SECONDS
