"""The step "latency": twenty echoes, each on a connection of its own, in parts."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from readback.probe.calls import Timing
from readback.probe.diagnoses import found
from readback.probe.echo import exchange
from readback.probe.findings import Fact, Finding
from readback.probe.scene import Scene
from readback.probe.wording import milliseconds

ECHOES = 20
_TEXT = "Ready to copy?"
_SLOW_SECONDS = 0.25
# On a slow way fewer echoes say as much, and nobody likes to wait.
_PATIENCE_SECONDS = 20.0


def check(scene: Scene) -> Finding:
    timings = _measure(scene)
    totals = [one.total for one in timings]
    rows = {
        "connect": [one.connect for one in timings if one.connect is not None],
        "tls": [one.tls for one in timings if one.tls is not None],
        "answer": [one.answer for one in timings],
        "total": totals,
    }
    is_slow = percentile(totals, 50) > _SLOW_SECONDS
    finding = found(
        "latency.slow" if is_slow else "latency.ok",
        figure=milliseconds(percentile(totals, 50)),
        samples=len(timings),
        **{name: _numbers(row) for name, row in rows.items() if row},
    )
    lines = tuple(_line(name, row) for name, row in rows.items() if row)
    return replace(finding, details=lines)


def percentile(values: Sequence[float], percent: int) -> float:
    """Give the value that so many percent do not exceed (nearest rank)."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def _measure(scene: Scene) -> list[Timing]:
    timings: list[Timing] = []
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while len(timings) < ECHOES and (not timings or time.monotonic() < deadline):
        with scene.new_caller() as caller:
            timings.append(exchange(scene, _TEXT, caller).timing)
    return timings


def _line(name: str, values: Sequence[float]) -> str:
    p50, p95 = (milliseconds(percentile(values, percent)) for percent in (50, 95))
    slowest = milliseconds(max(values))
    return f"{name:<7}  p50 {p50:>7}  p95 {p95:>7}  max {slowest:>7}"


def _numbers(values: Sequence[float]) -> Fact:
    return {
        "p50_ms": round(percentile(values, 50) * 1000, 3),
        "p95_ms": round(percentile(values, 95) * 1000, 3),
        "max_ms": round(max(values) * 1000, 3),
    }
