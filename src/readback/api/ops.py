"""Health, readiness and metrics, on a listener of their own.

Any worker answers for all: the numbers are summed over the memory they share. What
each metric means to an operator is said here, and docs/operations.md repeats it.
"""

import json
from collections.abc import Iterator
from email.utils import formatdate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from readback.api.data.health import Health
from readback.api.data.keyring import Keyring
from readback.api.http.handler import RequestOrigin
from readback.api.http.head import Head
from readback.api.shared.counters import GAUGES, REQUESTS, TOTALS, Counters
from readback.contract import REFUSALS

MEANINGS = {
    "requests": "Requests answered, by endpoint and code (ok or a refusal's).",
    "connections": "Connections accepted.",
    "statements": "SQL statements run.",
    "database_errors": "Statements or connections that failed.",
    "journal_dropped": "Requests whose usage could not be kept for writing later.",
    "open_connections": "Connections open now.",
    "known_keys": "Keys in the workers' memories.",
    "waiting_keys": "Keys that are being looked up.",
    "pending_rows": "Journal rows that wait to be written.",
    "database_up": "Workers that can ask the database about keys.",
    "database_writable": "Workers whose last write of usage and journal succeeded.",
    "alive": "Workers that are running.",
}


class Ops:
    """Serves three paths to the operator."""

    def __init__(self, counters: Counters, health: Health, keyring: Keyring) -> None:
        self._counters = counters
        self._health = health
        self._keyring = keyring
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def begin(self, head: Head, key: bytes, origin: RequestOrigin) -> bytes:
        if head.method not in (b"GET", b"HEAD"):
            return self.refuse("not_found", "")
        if head.target == b"/healthz":
            return _render(200, _json(status="ok"))
        if head.target == b"/readyz":
            return self._readiness()
        if head.target == b"/metrics":
            text = generate_latest(self._registry)
            return _render(200, text, "text/plain; version=0.0.4; charset=utf-8")
        return self.refuse("not_found", "")

    def refuse(self, code: str, detail: str) -> bytes:
        row = REFUSALS[code]
        return _render(row.status.value, _json(error={"code": code}))

    def collect(self) -> Iterator[Metric]:
        """Give all metrics; prometheus_client calls this."""
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

    def _readiness(self) -> bytes:
        """Say whether requests should come here, and what is wrong if anything is.

        While the database is away known keys go on, and no other replica can do
        more: it would be wrong to send requests nowhere.
        """
        troubles = self._health.troubles()
        if not self._keyring.is_trusted:
            return _render(503, _json(status="not ready", troubles=troubles))
        return _render(200, _json(status="ready", troubles=troubles))


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
