"""Metrics of the cabinet for Prometheus: the outbox. All of them are in the database.

Every cabinet on the same database reports the same numbers. The meaning of each metric
is defined here, and repeated in docs/operations.md.
"""

from collections.abc import Iterator
from ipaddress import ip_address

from django.http import HttpRequest
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from readback.cabinet import outbox

CONTENT_TYPE = CONTENT_TYPE_LATEST
MEANINGS = {
    "readback_mails_waiting": "Mails in the outbox.",
    "readback_mails_oldest_seconds": "How long the oldest of them has been waiting.",
    "readback_mails_total": "Mails that left the outbox, by outcome.",
}


class OutboxMetrics:
    """The metrics of the outbox, as prometheus_client collects them."""

    def collect(self) -> Iterator[Metric]:
        waiting = outbox.waiting()
        now = timezone.now()
        age = (now - (waiting.since or now)).total_seconds()
        values = {
            "readback_mails_waiting": waiting.mails,
            "readback_mails_oldest_seconds": age,
        }
        for name, value in values.items():
            yield GaugeMetricFamily(name, MEANINGS[name], value)
        name = "readback_mails_total"
        total = CounterMetricFamily(name, MEANINGS[name], labels=("outcome",))
        for outcome, mails in outbox.totals().items():
            total.add_metric((outcome,), mails)
        yield total


def text() -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(OutboxMetrics())
    return generate_latest(registry)


def is_from_operator(request: HttpRequest) -> bool:
    """Return whether the request came directly, from a private network.

    The public reaches the cabinet through a proxy, which adds X-Forwarded-For, or from
    an address that is not private.
    """
    if "x-forwarded-for" in request.headers:
        return False
    peer = request.META.get("REMOTE_ADDR", "")
    if not peer:  # a unix socket has no address
        return True
    address = ip_address(peer)
    return not (getattr(address, "ipv4_mapped", None) or address).is_global
