"""The state of the cabinet: the last backup, and metrics for Prometheus.

Each worker reports the metrics of all workers on its machine. The outbox and the last
backup are in the database, so all cabinets report the same values for them.
`readback.processes.shared_counters` says what each metric means.
"""

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from prometheus_client import Metric, generate_latest
from prometheus_client.registry import Collector

from readback.cabinet.mail import outbox
from readback.cabinet.models import LastBackup
from readback.cabinet.serving.wsgi import LIFECYCLE, PAGES, STATUSES, PageCounts
from readback.processes import metrics
from readback.processes.lifecycle import Lifecycle


def last_backup() -> datetime | None:
    return LastBackup.objects.values_list("at", flat=True).first()


class CabinetMetrics(Collector):
    def __init__(self, pages: PageCounts | None, lifecycle: Lifecycle | None) -> None:
        self._pages = pages
        self._lifecycle = lifecycle

    def collect(self) -> Iterator[Metric]:
        if self._pages and self._lifecycle:
            counters = self._pages.counters
            config = settings.CONFIG
            yield from metrics.common("cabinet", config, self._lifecycle, counters)
            statuses = [((str(each),), counters.total(each)) for each in STATUSES]
            yield metrics.counters_by("pages_total", ("status",), statuses)
        # If the database is unavailable, the other metrics are still reported.
        try:
            stored = list(_stored())
        except DatabaseError:
            stored = []
        yield metrics.gauge("cabinet_database_up", bool(stored))
        yield from stored


def _stored() -> Iterator[Metric]:
    mails = outbox.waiting()
    now = timezone.now()
    yield metrics.gauge("mails_waiting", mails["waiting"])
    age = (now - (mails["since"] or now)).total_seconds()
    yield metrics.gauge("oldest_mail_age_seconds", age)
    totals = [((outcome,), count) for outcome, count in outbox.totals().items()]
    yield metrics.counters_by("mails_total", ("outcome",), totals)
    if at := last_backup():
        yield metrics.gauge("last_backup_timestamp_seconds", at.timestamp())


def metrics_answer(request: HttpRequest) -> HttpResponse:
    collector = CabinetMetrics(request.META.get(PAGES), request.META.get(LIFECYCLE))
    text = generate_latest(collector)
    return HttpResponse(text, content_type=metrics.CONTENT_TYPE)


def may_read_metrics(request: HttpRequest) -> bool:
    """Return whether the request has the token from the settings.

    A client's address proves nothing, because a proxy on the same machine forwards
    public requests.
    """
    token: str = settings.CONFIG.metrics_token
    given = request.headers.get("Authorization", "")
    return bool(token) and constant_time_compare(given, f"Bearer {token}")
