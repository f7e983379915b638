"""Whether this worker can read from and write to the database.

The database thread reports, operators ask (`ops.py`), and each change is logged once.
Nothing here decides what becomes of a request.
"""

import logging

from readback.api.shared.counters import WorkerCounters

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
        self._counters.set(self._gauge, 1)

    def failed(self, reason: str) -> None:
        before, self.error = self.error, f"{self._complaint}: {reason}"
        if self.error != before:
            log.error(self.error)
        self._counters.set(self._gauge, 0)


class Health:
    """The two uses of the database: reading keys, and writing usage and journal."""

    def __init__(self, counters: WorkerCounters) -> None:
        self.reading = DependencyStatus(
            counters, "database_up", "cannot read keys from the database"
        )
        self.writing = DependencyStatus(
            counters, "database_writable", "cannot write usage and journal"
        )
        # No write has failed yet.
        counters.set("database_writable", 1)

    def errors(self) -> list[str]:
        """Return what does not work at the moment."""
        both = (self.reading.error, self.writing.error)
        return [error for error in both if error]
