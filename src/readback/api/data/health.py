"""Whether this worker can read from and write to the database.

The database thread reports, operators ask (`ops.py`), and each change is logged once.
Nothing here decides what becomes of a request.
"""

import logging

from readback.shared_counters import WorkerCounters

log = logging.getLogger("readback.api")


class DependencyStatus:
    """Whether one use of the database works, and if not, why."""

    def __init__(self, counters: WorkerCounters, gauge: str, complaint: str) -> None:
        self._counters = counters
        self._gauge = gauge
        self._complaint = complaint
        self.error = ""

    def succeeded(self) -> None:
        if self.error:
            log.warning("recovered; was: %s", self.error)
        self.error = ""
        self._set_gauge(1)

    def failed(self, reason: str) -> None:
        before, self.error = self.error, f"{self._complaint}: {reason}"
        if self.error != before:
            log.error(self.error)
        self._set_gauge(0)

    def _set_gauge(self, value: int) -> None:
        if self._gauge:
            self._counters.set(self._gauge, value)


class Health:
    """The uses of the database: read keys, write usage and journal, and the rest."""

    def __init__(self, counters: WorkerCounters) -> None:
        self.reading = DependencyStatus(
            counters, "database_readable_workers", "cannot read keys from the database"
        )
        self.writing = DependencyStatus(
            counters, "database_writable_workers", "cannot write usage and journal"
        )
        # Without a gauge: the service does what it promises to clients without it.
        self.unmatched = DependencyStatus(
            counters, "", "cannot write unmatched requests"
        )
        # No write has failed yet.
        counters.set("database_writable_workers", 1)

    def errors(self) -> list[str]:
        """Return what does not work at the moment."""
        uses = (self.reading, self.writing, self.unmatched)
        return [use.error for use in uses if use.error]
