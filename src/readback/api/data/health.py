"""Whether this worker can read from and write to the database.

`database.py` reports, operators ask (`ops.py`), and each change is logged once.
Unexpected errors in the periodic work of the event loop are reported here, too. Nothing
here decides what becomes of a request.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from readback import logs
from readback.processes.shared_counters import WorkerCounters

log = logging.getLogger("readback.api")

# An unexpected error is over, and would be logged again, once there was none for this
# long.
ROUND_ERROR_SECONDS = 60.0
BUSY_SECONDS = 5.0
ROUND_ERROR = "unexpected error in the periodic work of a worker"


@dataclass(eq=False)
class DependencyStatus:
    """Whether one use of the database works, and if not, why."""

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

    def failed(self, reason: str, *, busy: bool = False) -> bool:
        """Note an error; return whether it is another one than before.

        If somebody else was writing, that is an error only if it lasts.
        """
        if busy:
            self._busy_since = min(self._busy_since, now := time.monotonic())
            if now - self._busy_since < BUSY_SECONDS:
                return False
        before, self.error = self.error, f"{self._complaint}: {reason}"
        if self.error != before:
            log.error(self.error)
        self._set_gauge(0)
        return self.error != before

    def _set_gauge(self, value: int) -> None:
        if self._gauge:
            self._counters.set(self._gauge, value)


class RoundErrors:
    """Unexpected errors in the rounds of a worker; only its event loop uses this.

    A round is the periodic work, and what the database has answered since the last one.
    What fails is left out, and the round goes on, but it does not count as complete.
    """

    def __init__(self, counters: WorkerCounters) -> None:
        self._counters = counters
        self._logged: set[str] = set()
        # On the monotonic clock.
        self.last_at = -inf

    def note(self, error: Exception) -> None:
        self.last_at = now = time.monotonic()
        self._counters.add("round_errors")
        self._counters.set("round_error", int(now * 1000))
        description = logs.describe_error(error)
        if description not in self._logged:
            self._logged.add(description)
            log.error("%s: %s", ROUND_ERROR, description)

    def tick(self, now: float) -> None:
        if self._logged and now - self.last_at > ROUND_ERROR_SECONDS:
            self._logged.clear()
            self._counters.set("round_error", 0)
            log.warning("recovered; was: %s", ROUND_ERROR)

    def guard(self, step: Callable[[], object]) -> None:
        """Carry out one step of a round."""
        try:
            step()
        except Exception as error:
            self.note(error)


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
        self.cleaning = DependencyStatus(counters, "", "cannot delete expired rows")
        self.rounds = RoundErrors(counters)
        # No write has failed yet.
        counters.set("database_writable_workers", 1)

    def errors(self) -> list[str]:
        """Return what does not work at the moment."""
        uses = (self.reading, self.writing, self.unmatched, self.cleaning)
        return [use.error for use in uses if use.error]
