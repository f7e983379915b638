"""Health, readiness and metrics, on a listener of their own.

Any worker answers for all of them: the metrics are sums over their shared memory. The
meaning of each metric is defined here, and repeated in docs/operations.md.
"""

import json
import logging
from collections.abc import Iterator
from email.utils import formatdate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from readback import logs
from readback.api.data.health import Health
from readback.api.data.keyring import Keyring
from readback.api.http.handler import RequestOrigin
from readback.api.http.head import Head
from readback.api.shared.counters import GAUGES, REQUESTS, TOTALS, Counters
from readback.contract import REFUSALS

log = logging.getLogger("readback.api")

MEANINGS = {
    "requests": "Requests answered, by endpoint and code (ok or a refusal's).",
    "connections": "Connections accepted, with those of replaced workers.",
    "statements": "SQL statements run.",
    "database_errors": "Statements or connections that failed.",
    "journal_dropped": "Requests whose usage could not be kept for writing later.",
    "open_connections": "Connections open now.",
    "known_keys": "Keys in the workers' memories.",
    "waiting_keys": "Keys that are being looked up.",
    "pending_rows": "Journal rows that are not written yet.",
    "database_up": "Workers that can read keys from the database.",
    "database_writable": "Workers whose last write of usage and journal succeeded.",
    "alive": "Workers that are running.",
}


class Metrics:
    """All metrics, as prometheus_client collects them."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "readback_requests", MEANINGS["requests"], labels=("endpoint", "code")
        )
        for endpoint, code in REQUESTS:
            if total := self._counters.total((endpoint, code)):
                requests.add_metric((endpoint, code or "ok"), total)
        yield requests
        for name in TOTALS:
            value = self._counters.total(name)
            yield CounterMetricFamily(f"readback_{name}", MEANINGS[name], value)
        for name in GAUGES:
            value = self._counters.total(name)
            yield GaugeMetricFamily(f"readback_{name}", MEANINGS[name], value)


class Ops:
    """Serves three paths to the operator."""

    def __init__(self, counters: Counters, health: Health, keyring: Keyring) -> None:
        self._health = health
        self._keyring = keyring
        self._metrics = CollectorRegistry()
        self._metrics.register(Metrics(counters))

    def describe(self, head: Head) -> Head:
        return head

    def begin(self, head: Head, key: bytes, origin: RequestOrigin) -> bytes:
        if head.method not in (b"GET", b"HEAD"):
            return self.refuse("not_found", "")
        if head.target == b"/healthz":
            return _render(200, _json(status="ok"))
        if head.target == b"/readyz":
            return self._readiness()
        if head.target == b"/metrics":
            text = generate_latest(self._metrics)
            return _render(200, text, "text/plain; version=0.0.4; charset=utf-8")
        return self.refuse("not_found", "")

    def refuse(self, code: str, detail: str) -> bytes:
        row = REFUSALS[code]
        return _render(row.status.value, _json(error={"code": code}))

    def fail(self, error: Exception, head: Head | None) -> bytes:
        log.error("internal error on the ops listener: %s", logs.describe_error(error))
        return self.refuse("internal_error", "")

    def _readiness(self) -> bytes:
        """Return whether to send requests to this replica, and what is wrong, if any.

        While the database is unavailable, known keys keep working, and no other
        replica can do better: it would be wrong to leave the balancer without any.
        """
        errors = self._health.errors()
        if not self._keyring.is_trusted:
            return _render(503, _json(status="not ready", errors=errors))
        return _render(200, _json(status="ready", errors=errors))


def _json(**members: object) -> bytes:
    return json.dumps(members).encode()


def _render(status: int, body: bytes, kind: str = "application/json") -> bytes:
    phrase = {200: "OK", 404: "Not Found", 503: "Service Unavailable"}.get(status, "")
    head = (
        f"HTTP/1.1 {status} {phrase or 'Refused'}\r\n"
        f"Date: {formatdate(usegmt=True)}\r\nContent-Type: {kind}\r\n"
        f"Cache-Control: no-store\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
