"""How pages end and how long they take, counted in memory that all workers share.

A page is counted under the name of its view, never under its path, which contains the
ids and tokens of people.
"""

import threading
from collections.abc import Iterable, Iterator

from django.http import HttpRequest
from django.urls import URLPattern, URLResolver

from readback.shared_counters import WORKER_DEATHS, Histogram, SharedCounters

# No page is quicker than the first; the slowest are those for operators.
_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
OTHER = "other"
STATUSES = (200, 204, 301, 302, 304, 400, 403, 404, 405, 429, 500, 502, 503, OTHER)


class PageCounters(SharedCounters):
    """The counters of all workers of the cabinet."""

    def __init__(self, patterns: Iterable[URLPattern | URLResolver], rows: int) -> None:
        views = {*_names(patterns), OTHER}
        self.times = {view: Histogram(view, _BOUNDS) for view in sorted(views)}
        times = [column for each in self.times.values() for column in each.columns]
        super().__init__((*STATUSES, *times, WORKER_DEATHS), rows)


class WorkerPages:
    """Counts the pages of one worker, from all its threads."""

    def __init__(self, counters: PageCounters, row: int) -> None:
        self.counters = counters
        self._row = counters.row(row)
        self._lock = threading.Lock()

    def count(self, request: HttpRequest, status: int, seconds: float) -> None:
        """Count a page; Django has set the view of the request by then."""
        times = self.counters.times
        histogram = times.get(_view(request)) or times[OTHER]
        with self._lock:
            self._row.add(status if status in STATUSES else OTHER)
            histogram.observe(self._row, seconds)


def _names(patterns: Iterable[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            yield pattern.name or OTHER
        elif pattern.namespace:
            yield pattern.namespace
        else:
            yield from _names(pattern.url_patterns)


def _view(request: HttpRequest) -> str:
    match = request.resolver_match
    return (match.namespace or match.url_name or OTHER) if match else OTHER
