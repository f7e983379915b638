"""What the workers of the cabinet share: how many pages they have answered.

Nothing here imports Django: the manager creates the counters before any worker starts.
"""

import threading

from readback.processes.shared_counters import SharedCounters, rows_for

# Where the application finds, in the environment of a request, whether the service is
# stopping, and what counts its pages.
LIFECYCLE = "readback.lifecycle"
PAGES = "readback.pages"
OTHER = "other"
STATUSES = (200, 204, 301, 302, 304, 400, 403, 404, 405, 429, 500, 502, 503, OTHER)


def page_counters(workers: int) -> SharedCounters:
    return SharedCounters(STATUSES, rows_for(workers))


class WorkerPages:
    """Counts the pages of one worker, from all its threads."""

    def __init__(self, counters: SharedCounters, row: int) -> None:
        self.counters = counters
        self._row = counters.row(row)
        self._lock = threading.Lock()

    def count(self, code: int) -> None:
        with self._lock:
            self._row.add(code if code in STATUSES else OTHER)
