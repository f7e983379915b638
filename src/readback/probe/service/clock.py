"""The step "clock": the `Date` of the responses against the clock of this machine.

No request is sent for it: the responses of the earlier steps are enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from email.utils import parsedate_to_datetime

from readback.probe.common.formatting import format_offset
from readback.probe.common.results import Diagnosis
from readback.probe.diagnoses import diagnose
from readback.probe.service.latency import percentile
from readback.probe.transport.client import ProbeResponse
from readback.probe.transport.connecting import resolve_within
from readback.probe.transport.context import ProbeContext

# Certificates and tokens are often refused from a difference of one minute on.
_MAX_SECONDS = 60
# `Date` has whole seconds, so it is half a second late on average.
_ROUNDING_SECONDS = 0.5


def check(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    ahead = _seconds_ahead(context.responses)
    if ahead is None:
        return []
    id = "clock.ok" if abs(ahead) <= _MAX_SECONDS else _which(context, ahead)
    direction = "ahead of" if ahead > 0 else "behind"
    return diagnose(
        id,
        offset=format_offset(abs(ahead)),
        direction=direction,
        seconds=round(ahead),
    )


def _which(context: ProbeContext, ahead: float) -> str:
    """Return the diagnosis that says which clock is off, if the cabinet's tells."""
    cabinet = context.cabinet
    of_cabinet = _seconds_ahead([cabinet]) if cabinet else None
    if of_cabinet is None:
        return "clock.differs"
    if abs(of_cabinet) <= _MAX_SECONDS:
        return "clock.service"
    agrees = abs(of_cabinet - ahead) <= _MAX_SECONDS
    return "clock.machine" if agrees and _is_elsewhere(context) else "clock.differs"


def _is_elsewhere(context: ProbeContext) -> bool:
    """Return whether the cabinet runs on another machine, with a clock of its own."""
    try:
        cabinet = resolve_within(context.cabinet_host, 0, context.timeout)
        service = resolve_within(context.base_url.host, 0, context.timeout)
        return not set(cabinet) & set(service)
    except OSError:
        return False


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
