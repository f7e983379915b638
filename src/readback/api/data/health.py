"""Whether this worker can read from the database and write to it.

`database.py` reports errors, `ops.py` shows them, and each change is logged once.
Unexpected errors in the periodic work are counted, and each is logged once.
"""

import logging
import time
from dataclasses import dataclass
from math import inf

from readback import logs
from readback.processes.shared_counters import WorkerCounters

log = logging.getLogger("readback.api")

BUSY_SECONDS = 5.0


@dataclass(eq=False)
class DependencyStatus:
    """Whether the database works for one purpose and, if not, why."""

    _counters: WorkerCounters
    _gauge: str
    _complaint: str
    _busy_since: float = inf
    error: str = ""

    def succeeded(self) -> None:
        self._busy_since = inf
        if self.error:
            log.warning("recovered; was: %s", self.error)
        self.error = ""
        self._set_gauge(1)

    def failed(self, reason: str, *, busy: bool = False) -> None:
        """Note an error. If another process is writing, only a lasting error counts."""
        if busy:
            self._busy_since = min(self._busy_since, now := time.monotonic())
            if now - self._busy_since < BUSY_SECONDS:
                return
        before = self.error
        self.error = f"{self._complaint}: {reason}"
        if self.error != before:
            log.error(self.error)
        self._set_gauge(0)

    def _set_gauge(self, value: int) -> None:
        if self._gauge:
            self._counters.set(self._gauge, value)


class Health:
    """The status of each use of the database, and of the periodic work."""

    def __init__(self, counters: WorkerCounters) -> None:
        self.reading = DependencyStatus(
            counters, "database_readable_workers", "cannot read keys from the database"
        )
        self.writing = DependencyStatus(
            counters, "database_writable_workers", "cannot write usage and journal"
        )
        self.unmatched = DependencyStatus(
            counters, "", "cannot write unmatched requests"
        )
        self.cleaning = DependencyStatus(counters, "", "cannot delete expired rows")
        self._counters = counters
        self._unexpected: set[str] = set()
        counters.set("database_writable_workers", 1)

    def errors(self) -> list[str]:
        uses = (self.reading, self.writing, self.unmatched, self.cleaning)
        return [use.error for use in uses if use.error]

    def note_unexpected(self, error: Exception) -> None:
        """Count an error in this worker's periodic work, and log it once."""
        self._counters.add("round_errors")
        description = logs.describe_error(error)
        if description not in self._unexpected:
            self._unexpected.add(description)
            log.error(
                "unexpected error in the periodic work of a worker: %s", description
            )
