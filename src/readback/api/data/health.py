"""What the database lets this worker do: told by the clerk, asked by operators.

Each change is said once in the log and stands in the metrics; `ops.py` shows the
present. Nothing here decides what becomes of a request.
"""

import logging

from readback.api.shared.counters import WorkerCounters

log = logging.getLogger("readback.api")


class DependencyStatus:
    """One thing that a worker can do, or cannot and knows why."""

    def __init__(self, counters: WorkerCounters, gauge: str, complaint: str) -> None:
        self._counters = counters
        self._gauge = gauge
        self._complaint = complaint
        self.trouble = ""

    def works(self) -> None:
        if self.trouble:
            log.warning("it works again; before, %s", self.trouble)
        self.trouble = ""
        self._counters.set(self._gauge, 1)

    def fails(self, reason: str) -> None:
        before, self.trouble = self.trouble, f"{self._complaint}: {reason}"
        if self.trouble != before:
            log.error(self.trouble)
        self._counters.set(self._gauge, 0)


class Health:
    """Reading keys, and writing usage and journal."""

    def __init__(self, counters: WorkerCounters) -> None:
        self.reading = DependencyStatus(
            counters, "database_up", "the database cannot be asked about keys"
        )
        self.writing = DependencyStatus(
            counters, "database_writable", "usage and journal cannot be written"
        )
        # Nobody knows before the first write; the last one did not fail.
        counters.set("database_writable", 1)

    def troubles(self) -> list[str]:
        """Say what does not work just now."""
        both = (self.reading.trouble, self.writing.trouble)
        return [trouble for trouble in both if trouble]
