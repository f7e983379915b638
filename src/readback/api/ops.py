"""Health, readiness and metrics, on a listener of their own.

Any worker can answer for all workers, because their counters are in shared memory.
"""

import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate

from prometheus_client import Metric, generate_latest
from prometheus_client.registry import Collector

from readback import logs
from readback.api.data.health import Health
from readback.api.data.keyring import Keyring
from readback.api.shared.counters import (
    GAUGES,
    MOMENTS,
    REQUESTS,
    TIMES,
    TOTAL_TIME,
    TOTALS,
)
from readback.config import Config
from readback.contract import HEALTH_PATH, READINESS_PATH, REFUSALS, reason_phrase
from readback.http.handler import Handler, RequestOrigin
from readback.http.head import Head
from readback.http.meaning import Understood
from readback.processes import metrics
from readback.processes.lifecycle import Lifecycle
from readback.processes.shared_counters import SharedCounters

log = logging.getLogger("readback.api")

# A replica is strictly ready if all its workers have read their keys this recently.
# Workers report errors within 2.5 s, so all replicas report a database outage before a
# balancer removes the first one.
STRICT_SECONDS = 5.0
_HEALTH = HEALTH_PATH.encode()
_READINESS = READINESS_PATH.encode()


@dataclass(eq=False)
class Ops(Handler[Head], Collector):
    """Serves the operator's paths, and collects the metrics for one of them."""

    _counters: SharedCounters
    _health: Health
    _keyring: Keyring
    _lifecycle: Lifecycle
    _config: Config

    def describe(self, head: Head) -> Head:
        return head

    def begin(self, request: Understood[Head], origin: RequestOrigin) -> bytes:
        meaning, *_ = request
        info = meaning.info
        if info.method not in (b"GET", b"HEAD"):
            return self.refuse("not_found", "")
        if info.target == _HEALTH:
            return _render(200, _json(status="ok"))
        if info.target == _READINESS:
            return self._readiness(self._keyring.is_trusted)
        if info.target == _READINESS + b"/strict":
            earliest = self._counters.earliest("keys_confirmed") / 1000
            is_complete = time.monotonic() - earliest <= STRICT_SECONDS
            return self._readiness(self._keyring.is_trusted and is_complete)
        if info.target == b"/status":
            # For clients other than balancers; it does not count as a readiness check.
            return _render(200, self._state(self._keyring.is_trusted))
        if info.target == b"/metrics":
            return _render(200, generate_latest(self), metrics.CONTENT_TYPE)
        return self.refuse("not_found", "")

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        row = REFUSALS[code]
        return _render(row.status.value, _json(error={"code": code}))

    def fail(self, error: Exception, info: Head | None) -> bytes:
        log.error("internal error on the ops listener: %s", logs.describe_error(error))
        return self.refuse("internal_error", "")

    def _readiness(self, ready: bool) -> bytes:
        """Return the readiness answer: whether a balancer should send requests here,
        and any problems.

        Known keys keep working while the database is unavailable. Only the balancer
        knows whether another replica can do better, so there are two checks: `/readyz`,
        and `/readyz/strict`, which also requires the database.
        """
        if ready:
            ready = self._lifecycle.answer_check()
        return _render(200 if ready else 503, self._state(ready))

    def _state(self, ready: bool) -> bytes:
        status = "ready" if ready else "not ready"
        return _json(
            status="stopping" if self._lifecycle.is_stopping else status,
            errors=self._health.errors(),
            warnings=self._lifecycle.problems(),
        )

    def collect(self) -> Iterator[Metric]:
        counters = self._counters
        yield from metrics.common("api", self._config, self._lifecycle, counters)
        # Outcomes that have not occurred yet are included, because Prometheus cannot
        # compute the increase of a counter that was missing before.
        requests = [
            ((endpoint, code or "ok"), counters.total((endpoint, code)))
            for endpoint, code in REQUESTS
        ]
        yield metrics.counters_by("requests_total", ("endpoint", "code"), requests)
        times = [(bound / 1000, counters.total(bound)) for bound in TIMES]
        total = counters.total(TOTAL_TIME) / 1000
        yield metrics.histogram("request_seconds", times, total)
        for name in TOTALS:
            yield metrics.counter(f"{name}_total", counters.total(name))
        for name in GAUGES:
            yield metrics.gauge(name, counters.total(name))
        # The remaining values are not always known.
        for column, name in MOMENTS.items():
            if lowest := counters.earliest(column):
                value: float = lowest
                if column == "keys_confirmed":
                    value = time.monotonic() - lowest / 1000
                yield metrics.gauge(name, value)


def _json(**members: object) -> bytes:
    return json.dumps(members).encode()


def _render(status: int, body: bytes, media_type: str = "application/json") -> bytes:
    head = (
        f"HTTP/1.1 {status} {reason_phrase(status)}\r\n"
        f"Date: {formatdate(usegmt=True)}\r\nContent-Type: {media_type}\r\n"
        f"Cache-Control: no-store\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
