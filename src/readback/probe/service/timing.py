"""Steps about time: an idle connection, the latency, the clocks of both sides."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime

from readback.probe.common.formatting import format_duration, format_offset
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.service.echo import send_text
from readback.probe.transport.client import ProbeClient, ProbeResponse, Timing
from readback.probe.transport.connecting import resolve_within
from readback.probe.transport.context import UNKNOWN, ProbeContext

_DEAD = {"http.silent": "between.idle_dead", "http.cut": "between.idle_reset"}
SAMPLES = 20
_TIMED_TEXT = "Ready to copy?"
_SLOW_SECONDS = 0.25
# On a slow connection fewer samples are enough.
_MEASURE_SECONDS = 3.0
# Certificates and tokens are often refused from a difference of one minute on.
_MAX_OFFSET_SECONDS = 60
# `Date` has whole seconds, so it is half a second late on average.
_ROUNDING_SECONDS = 0.5


def check_idle(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    if not context.idle_seconds:
        return []
    id = _use_after_pause(context)
    if id == "between.idle_reset":
        # The service may have closed the connection in the moment of the request.
        id = _use_after_pause(context)
    return diagnose(id, seconds=format_duration(context.idle_seconds))


def _use_after_pause(context: ProbeContext) -> str:
    with context.new_client() as client:
        _request(context, client)
        time.sleep(context.idle_seconds)
        try:
            second = _request(context, client)
        except ProbeError as error:
            if error.id not in _DEAD:
                raise
            # A finding only if a new connection works at the same moment.
            with context.new_client() as another:
                _request(context, another)
            return _DEAD[error.id]
    is_kept = second.timing.connect is None
    return "between.idle_ok" if is_kept else "between.idle_closed"


def _request(context: ProbeContext, client: ProbeClient) -> ProbeResponse:
    return client.request("GET", f"{context.base_url.path}{UNKNOWN}")


def check_latency(context: ProbeContext) -> Diagnosis:
    timings = _measure(context)
    totals = [one.total for one in timings]
    phases = {
        "connect": [one.connect for one in timings if one.connect is not None],
        "tls": [one.tls for one in timings if one.tls is not None],
        "answer": [one.answer for one in timings],
        "total": totals,
    }
    rows = {
        name: {"p50": percentile(all, 50), "p95": percentile(all, 95), "max": max(all)}
        for name, all in phases.items()
        if all
    }
    numbers: dict[str, Fact] = {
        name: {f"{one}_ms": round(s * 1000, 3) for one, s in figures.items()}
        for name, figures in rows.items()
    }
    # The fastest echo says most about the connection; this machine may have held up
    # the others.
    is_slow = min(totals) > _SLOW_SECONDS
    diagnosis = diagnose(
        "latency.slow" if is_slow else "latency.ok",
        figure=format_duration(percentile(totals, 50)),
        samples=len(timings),
        **numbers,
    )
    lines = (
        f"{name:<7}  "
        + "  ".join(f"{one} {format_duration(s):>7}" for one, s in figures.items())
        for name, figures in rows.items()
    )
    return replace(diagnosis, details=tuple(lines))


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the percentile of the values by the nearest-rank method."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def _measure(context: ProbeContext) -> list[Timing]:
    timings: list[Timing] = []
    deadline = time.monotonic() + _MEASURE_SECONDS
    while len(timings) < SAMPLES and (not timings or time.monotonic() < deadline):
        try:
            with context.new_client() as client:
                timings.append(send_text(context, _TIMED_TEXT, client).timing)
        except ProbeError as error:
            if error.id == "skipped.budget" and timings:
                break  # Another step had to look more closely.
            raise
    return timings


def check_clock(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    ahead = _seconds_ahead(context.responses)
    if ahead is None:
        return []
    id = "clock.ok" if abs(ahead) <= _MAX_OFFSET_SECONDS else _which(context, ahead)
    direction = "ahead of" if ahead > 0 else "behind"
    return diagnose(
        id, offset=format_offset(abs(ahead)), direction=direction, seconds=round(ahead)
    )


def _which(context: ProbeContext, ahead: float) -> str:
    """Return the diagnosis that says which clock is off, if the cabinet's tells."""
    cabinet = context.cabinet
    of_cabinet = _seconds_ahead([cabinet]) if cabinet else None
    if of_cabinet is None:
        return "clock.differs"
    if abs(of_cabinet) <= _MAX_OFFSET_SECONDS:
        return "clock.service"
    if abs(of_cabinet - ahead) > _MAX_OFFSET_SECONDS:
        return "clock.differs"
    # Only another machine has a clock of its own.
    try:
        there = set(resolve_within(context.cabinet_host, 0, context.timeout))
        there &= set(resolve_within(context.base_url.host, 0, context.timeout))
        return "clock.differs" if there else "clock.machine"
    except OSError:
        return "clock.differs"


def _seconds_ahead(responses: Iterable[ProbeResponse]) -> float | None:
    """Return how far the other clock is ahead of ours: the median of all responses."""
    found = [seconds for one in responses if (seconds := _ahead(one)) is not None]
    return percentile(found, 50) if found else None


def _ahead(response: ProbeResponse) -> float | None:
    if "Age" in response.headers:
        return None  # A cache may have kept it, with the date of that time.
    try:
        date = parsedate_to_datetime(response.headers.get("Date", ""))
        then = date.timestamp() + _ROUNDING_SECONDS
    except (TypeError, ValueError, IndexError, OverflowError, OSError):
        return None
    return then - (response.received_at - response.timing.answer / 2)
