"""The step "latency": times twenty echoes, each on a new connection, by phase."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from readback.probe.common.formatting import format_duration
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.service.echo import send_text
from readback.probe.transport.client import Timing
from readback.probe.transport.context import ProbeContext

SAMPLES = 20
_TEXT = "Ready to copy?"
_SLOW_SECONDS = 0.25
# On a slow connection fewer samples are enough.
_MAX_SECONDS = 3.0


def check(context: ProbeContext) -> Diagnosis:
    timings = _measure(context)
    totals = [one.total for one in timings]
    rows = {
        "connect": [one.connect for one in timings if one.connect is not None],
        "tls": [one.tls for one in timings if one.tls is not None],
        "answer": [one.answer for one in timings],
        "total": totals,
    }
    # The fastest echo says most about the connection; this machine may have held up
    # the others.
    is_slow = min(totals) > _SLOW_SECONDS
    diagnosis = diagnose(
        "latency.slow" if is_slow else "latency.ok",
        figure=format_duration(percentile(totals, 50)),
        samples=len(timings),
        **{name: _numbers(row) for name, row in rows.items() if row},
    )
    lines = tuple(_line(name, row) for name, row in rows.items() if row)
    return replace(diagnosis, details=lines)


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the percentile of the values by the nearest-rank method."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def _measure(context: ProbeContext) -> list[Timing]:
    timings: list[Timing] = []
    deadline = time.monotonic() + _MAX_SECONDS
    while len(timings) < SAMPLES and (not timings or time.monotonic() < deadline):
        try:
            with context.new_client() as client:
                timings.append(send_text(context, _TEXT, client).timing)
        except ProbeError as error:
            if error.id == "skipped.budget" and timings:
                break  # Another step had to look more closely.
            raise
    return timings


def _line(name: str, values: Sequence[float]) -> str:
    p50, p95 = (format_duration(percentile(values, percent)) for percent in (50, 95))
    slowest = format_duration(max(values))
    return f"{name:<7}  p50 {p50:>7}  p95 {p95:>7}  max {slowest:>7}"


def _numbers(values: Sequence[float]) -> Fact:
    return {
        "p50_ms": round(percentile(values, 50) * 1000, 3),
        "p95_ms": round(percentile(values, 95) * 1000, 3),
        "max_ms": round(max(values) * 1000, 3),
    }
