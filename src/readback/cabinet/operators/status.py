"""The state of the service: API, versions, database, and metrics for Prometheus.

The API is asked one question, at its ops listener, and has a second to answer. It may
run elsewhere, hang or be something else entirely, so the question is asked in a thread
of its own and never fails.

Any worker reports the metrics of all workers of its machine. Outbox and last backup are
in the database, so every cabinet on it reports the same. `readback.metrics` says what
each metric means. A page is counted under the name of its view, never under its path,
which contains the ids and tokens of people.
"""

import platform
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import allauth
import django
import msgspec
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from prometheus_client import Metric
from prometheus_client.registry import Collector

from readback import __version__, http_client, metrics
from readback.cabinet.mail import outbox
from readback.cabinet.models import LastBackup
from readback.cabinet.serving import schema
from readback.cabinet.serving.worker import LIFECYCLE, PAGES
from readback.http_client import NoFreeSlot, Slots
from readback.lifecycle import Lifecycle
from readback.setting_values import Bind
from readback.shared_counters import Histogram, SharedCounters

TIMEOUT_SECONDS = 1.0
# No page is quicker than the first; the slowest are those for operators.
_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
OTHER = "other"
STATUSES = (200, 204, 301, 302, 304, 400, 403, 404, 405, 429, 500, 502, 503, OTHER)

# Up to the last second of the year 9999.
_Number = Annotated[int, msgspec.Meta(ge=0, le=253_402_300_799)]
_Text = Annotated[str, msgspec.Meta(max_length=300)]

# Twice the threads for pages: a host name whose look-up hangs keeps its thread.
_slots = Slots(16)


class ApiStatus(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `/status`."""

    status: Literal["ready", "not ready", "stopping"]
    errors: Annotated[list[_Text], msgspec.Meta(max_length=8)]
    version: _Text
    started_at: _Number
    workers: _Number
    open_connections: _Number

    @property
    def since(self) -> datetime:
        return datetime.fromtimestamp(self.started_at, UTC)


class ApiReport(NamedTuple):
    """What was heard at the address of the ops listener."""

    address: str
    status: ApiStatus | None = None
    # Something has answered, but not as the API does.
    is_strange: bool = False


class ApiQuestion:
    """A question that is on its way; ask it first and read the report last."""

    def __init__(self, bind: Bind) -> None:
        self._bind = bind
        self._deadline = time.monotonic() + TIMEOUT_SECONDS
        self._answer = _slots.start(partial(_ask, bind))

    def report(self) -> ApiReport:
        report = ApiReport(str(self._bind))
        try:
            left = max(self._deadline - time.monotonic(), 0.001)
            return report._replace(status=self._answer.result(left))
        except (HTTPException, msgspec.MsgspecError, ValueError, RecursionError):
            return report._replace(is_strange=True)
        except (OSError, NoFreeSlot):
            return report  # which says that nothing has answered


def _ask(bind: Bind) -> ApiStatus:
    """Return the status; raise an error if that is not what was answered."""
    address = (socket.AF_UNIX, bind.path) if bind.path else None
    origin = "http://localhost" if bind.path else bind.origin
    code, body = http_client.get(f"{origin}/status", TIMEOUT_SECONDS, address)
    if code != HTTPStatus.OK:
        raise ValueError("not the answer of an API of this version")
    return msgspec.json.decode(body, type=ApiStatus)


def versions() -> dict[str, str]:
    return {
        "Readback": __version__,
        "Python": platform.python_version(),
        "Django": django.__version__,
        "django-allauth": allauth.__version__,
    }


def last_backup() -> datetime | None:
    return LastBackup.objects.values_list("at", flat=True).first()


def database_facts() -> dict[str, Any]:
    if connection.vendor == "sqlite":
        version = connection.Database.sqlite_version  # type: ignore[attr-defined]
        path: Path = settings.CONFIG.sqlite_path  # type: ignore[assignment]
        kind, size = "SQLite", 0
        for file in (path, path.with_name(f"{path.name}-wal")):
            with suppress(FileNotFoundError):  # the log may end at any moment
                size += file.stat().st_size
    else:
        kind = "PostgreSQL"
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            [version] = cursor.fetchone()
            cursor.execute("SELECT pg_database_size(current_database())")
            [size] = cursor.fetchone()
    return {
        # Distributions add their own words: "17.2 (Debian 17.2-1.pgdg120+1)".
        "name": f"{kind} {version.split()[0]}",
        "bytes": size,
        "pending_migrations": schema.pending(),
        "last_backup": last_backup(),
    }


class PageCounters(SharedCounters):
    def __init__(self, patterns: Iterable[URLPattern | URLResolver], rows: int) -> None:
        views = {*_names(patterns), OTHER}
        self.times = {view: Histogram(view, _BOUNDS) for view in sorted(views)}
        times = [column for each in self.times.values() for column in each.columns]
        super().__init__((*STATUSES, *times), rows)


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
    if at := last_backup():
        yield metrics.gauge("last_backup_timestamp_seconds", at.timestamp())


def metrics_answer(request: HttpRequest) -> HttpResponse:
    collector = CabinetMetrics(request.META.get(PAGES), request.META.get(LIFECYCLE))
    text, content_type = metrics.encode(collector, request.headers.get("Accept", ""))
    return HttpResponse(text, content_type=content_type)


def may_read_metrics(request: HttpRequest) -> bool:
    """Return whether the request has the token of the settings.

    Where a request comes from proves nothing: a proxy on the same machine brings those
    of the public, and need not say so.
    """
    token: str = settings.CONFIG.metrics_token
    given = request.headers.get("Authorization", "")
    return bool(token) and constant_time_compare(given, f"Bearer {token}")
