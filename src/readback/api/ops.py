"""Health, readiness and metrics, on a listener of their own.

Any worker answers for all of them: the metrics are sums over their shared memory. The
meaning of each metric is defined here, and repeated in docs/operations.md.
"""

import json
import logging
import time
from collections.abc import Iterator
from email.utils import formatdate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from readback import __version__, logs
from readback.api.data.health import Health
from readback.api.data.keyring import Keyring
from readback.api.http.handler import RequestOrigin
from readback.api.http.head import Head
from readback.api.shared.counters import GAUGES, REQUESTS, TOTALS, Counters
from readback.contract import REFUSALS
from readback.lifecycle import Lifecycle

log = logging.getLogger("readback.api")

# A replica is strictly ready if all its workers reached the database this recently.
# A worker reports an error earlier, within 2.5 s even if no packet arrives. So when all
# replicas lose the database, a balancer can know before it takes out the first of them.
STRICT_SECONDS = 5.0

MEANINGS = {
    "requests": "Requests answered, by endpoint and code (ok or a refusal's).",
    "connections": "Connections accepted, with those of replaced workers.",
    "connections_refused": "Connections refused: too many, or too few descriptors.",
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
    """Serves five paths to the operator."""

    def __init__(
        self,
        counters: Counters,
        health: Health,
        keyring: Keyring,
        lifecycle: Lifecycle,
    ) -> None:
        self._health = health
        self._keyring = keyring
        self._lifecycle = lifecycle
        self._counters = counters
        self._metrics = CollectorRegistry()
        self._metrics.register(Metrics(counters))

    def describe(self, head: Head) -> Head:
        return head

    def contains_secret(self, data: bytes) -> bool:
        return False  # no key is needed here

    def begin(self, head: Head, key: bytes, origin: RequestOrigin) -> bytes:
        if head.method not in (b"GET", b"HEAD"):
            return self.refuse("not_found", "")
        if head.target == b"/healthz":
            return _render(200, _json(status="ok"))
        if head.target == b"/readyz":
            return self._readiness(self._keyring.is_trusted)
        if head.target == b"/readyz/strict":
            return self._readiness(self._keyring.is_trusted and self._has_database())
        if head.target == b"/status":
            return self._status()
        if head.target == b"/metrics":
            text = generate_latest(self._metrics)
            return _render(200, text, "text/plain; version=0.0.4; charset=utf-8")
        return self.refuse("not_found", "")

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        row = REFUSALS[code]
        return _render(row.status.value, _json(error={"code": code}))

    def fail(self, error: Exception, head: Head | None) -> bytes:
        log.error("internal error on the ops listener: %s", logs.describe_error(error))
        return self.refuse("internal_error", "")

    def _readiness(self, ready: bool) -> bytes:
        """Return whether to send requests to this replica, and what is wrong, if any.

        While the database is unavailable, known keys keep working. If that is true of
        all replicas, it would be wrong to leave the balancer without any; if another
        replica has the database, that one can do better. Only the balancer knows, so
        it gets both answers.
        """
        errors = self._health.errors()
        if self._lifecycle.is_stopping or not ready:
            return _render(503, _json(status=self._state(ready), errors=errors))
        self._lifecycle.note_readiness_check()
        return _render(200, _json(status=self._state(ready), errors=errors))

    def _state(self, ready: bool) -> str:
        if self._lifecycle.is_stopping:
            return "stopping"
        return "ready" if ready else "not ready"

    def _status(self) -> bytes:
        """Return what the cabinet shows to operators.

        Not a check: a balancer that asks must be told of a stop first, a person not.
        """
        return _render(
            200,
            _json(
                status=self._state(self._keyring.is_trusted),
                errors=self._health.errors(),
                version=__version__,
                started_at=self._lifecycle.started_at,
                workers=self._counters.total("alive"),
                open_connections=self._counters.total("open_connections"),
            ),
        )

    def _has_database(self) -> bool:
        """Return whether every worker has reached the database recently.

        The answer is the same whichever worker is asked.
        """
        earliest = self._counters.earliest("keys_confirmed") / 1000
        return time.monotonic() - earliest <= STRICT_SECONDS


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
