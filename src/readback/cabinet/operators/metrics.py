"""Metrics of the cabinet for Prometheus: its pages, the outbox, and the last backup.

Any worker answers for all workers of its machine. Outbox and last backup are in the
database, so every cabinet on it reports the same. `readback.metrics` says what each
metric means. A page is counted under the name of its view, never under its path, which
contains the ids and tokens of people.
"""

import threading
from collections.abc import Iterable, Iterator

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from prometheus_client import Metric
from prometheus_client.registry import Collector

from readback import metrics
from readback.cabinet.mail import outbox
from readback.cabinet.operators import status
from readback.cabinet.serving.worker import LIFECYCLE, PAGES
from readback.lifecycle import Lifecycle
from readback.shared_counters import WORKER_DEATHS, Histogram, SharedCounters

# No page is quicker than the first; the slowest are those for operators.
_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
OTHER = "other"
STATUSES = (200, 204, 301, 302, 304, 400, 403, 404, 405, 429, 500, 502, 503, OTHER)


class PageCounters(SharedCounters):
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

    def count(self, request: HttpRequest, code: int, seconds: float) -> None:
        """Count a page; Django has set the view of the request by then."""
        match, times = request.resolver_match, self.counters.times
        view = (match.namespace or match.url_name or OTHER) if match else OTHER
        histogram = times.get(view) or times[OTHER]
        with self._lock:
            self._row.add(code if code in STATUSES else OTHER)
            histogram.observe(self._row, seconds)


def _names(patterns: Iterable[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            yield pattern.name or OTHER
        elif pattern.namespace:
            yield pattern.namespace
        else:
            yield from _names(pattern.url_patterns)


class CabinetMetrics(Collector):
    def __init__(self, pages: WorkerPages | None, lifecycle: Lifecycle | None) -> None:
        self._pages = pages
        self._lifecycle = lifecycle

    def collect(self) -> Iterator[Metric]:
        if self._pages and self._lifecycle:
            counters, config = self._pages.counters, settings.CONFIG
            yield from metrics.of_both_planes(
                "cabinet", config, self._lifecycle, counters
            )
            statuses = [((str(each),), counters.total(each)) for each in STATUSES]
            yield metrics.counters_by("pages_total", ("status",), statuses)
            times = [((view,), each) for view, each in counters.times.items()]
            yield metrics.histograms("page_seconds", ("view",), times, counters)
        # Without the database, the rest is worth all the more.
        try:
            stored = list(_stored())
        except DatabaseError:
            stored = []
        yield metrics.gauge("cabinet_database_up", bool(stored))
        yield from stored


def _stored() -> Iterator[Metric]:
    waiting = outbox.waiting()
    now = timezone.now()
    yield metrics.gauge("mails_waiting", waiting.mails)
    age = (now - (waiting.since or now)).total_seconds()
    yield metrics.gauge("oldest_mail_age_seconds", age)
    totals = [((outcome,), mails) for outcome, mails in outbox.totals().items()]
    yield metrics.counters_by("mails_total", ("outcome",), totals)
    if at := status.last_backup():
        yield metrics.gauge("last_backup_timestamp_seconds", at.timestamp())


def answer(request: HttpRequest) -> HttpResponse:
    collector = CabinetMetrics(request.META.get(PAGES), request.META.get(LIFECYCLE))
    text, content_type = metrics.encode(collector, request.headers.get("Accept", ""))
    return HttpResponse(text, content_type=content_type)


def is_allowed(request: HttpRequest) -> bool:
    """Return whether the request has the token of the settings.

    Where a request comes from proves nothing: a proxy on the same machine brings those
    of the public, and need not say so.
    """
    token: str = settings.CONFIG.metrics_token
    given = request.headers.get("Authorization", "")
    return bool(token) and constant_time_compare(given, f"Bearer {token}")
