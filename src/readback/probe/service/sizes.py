"""The step "echo: 8192 bytes": the largest text, or the largest one that passes.

Small requests pass and large ones hang where a link takes smaller packets than the rest
of the path and the messages that would say so are dropped (RFC 2923 §2.1), or where
something in between has a limit. Which it is shows in the size, which is found by
halving.
"""

from __future__ import annotations

from dataclasses import dataclass

from readback.contract import MAX_CONTENT_BYTES, MODEL
from readback.probe.client import ProbeResponse
from readback.probe.context import ProbeContext
from readback.probe.results import Diagnosis, Fact, ProbeError
from readback.probe.service import echo
from readback.probe.service.refusals import parse_refusal

# What becomes of a request or response that is too large for something in between.
_HANGS = {"http.silent", "http.stalled"}
_LOST = _HANGS | {
    "between.blocked",
    "between.other_response",
    "http.cut",
    "http.cut_short",
    "http.gateway",
    "http.proxy_page",
}
_SMALL_BYTES = 32
_PRECISION_BYTES = 32
# A packet of 1,500 bytes carries up to 1,460 of a body, one of 1,280 bytes (the
# smallest that IPv6 allows) up to 1,220; encryption and options take some of them.
_PACKET_BYTES = range(1_100, 1_500)
# A text that passes takes about as long as a small one, so do not wait much longer.
_PATIENCE = 10
_MIN_SECONDS, _MAX_SECONDS = 0.5, 2.0


def check(context: ProbeContext) -> Diagnosis:
    try:
        return echo.check(context, echo.largest_text())
    except ProbeError as error:
        if error.id not in _LOST:
            raise
        raise _explain(context, error) from None


def _explain(context: ProbeContext, lost: ProbeError) -> ProbeError:
    """Return the error with the size from which texts are lost, if there is one."""
    try:
        small = _echo(context, _SMALL_BYTES, context.timeout)
        seconds = max(_MIN_SECONDS, min(_PATIENCE * small.timing.total, _MAX_SECONDS))
        seconds = min(seconds, context.timeout)
        found = _halve(context, small, seconds, lost)
        are_requests = _is_request_lost(context, found.fails, seconds)
    except ProbeError:
        return lost  # The size is not the reason, or the service has had enough.
    return _limit_error(found, are_requests)


@dataclass
class _Found:
    """The size that passes, the size that does not, and what happens to that one."""

    passes: int
    fails: int
    response: ProbeResponse
    error: ProbeError


def _halve(
    context: ProbeContext, small: ProbeResponse, seconds: float, lost: ProbeError
) -> _Found:
    found = _Found(_SMALL_BYTES, MAX_CONTENT_BYTES, small, lost)
    while found.fails - found.passes > _PRECISION_BYTES:
        _try(context, found, (found.passes + found.fails) // 2, seconds)
    if found.error is lost:
        _try(context, found, MAX_CONTENT_BYTES, seconds)  # It may have been chance.
    if found.passes == MAX_CONTENT_BYTES:
        raise lost
    return found


def _try(context: ProbeContext, found: _Found, size: int, seconds: float) -> None:
    try:
        found.response = _echo(context, size, seconds)
        found.passes = size
    except ProbeError as error:
        if error.id not in _LOST:
            raise
        found.fails, found.error = size, error


def _echo(context: ProbeContext, size: int, seconds: float) -> ProbeResponse:
    with context.new_client(timeout=seconds) as client:
        return echo.send_text(context, _text(size), client)


def _text(size: int) -> str:
    return echo.largest_text().encode()[:size].decode(errors="ignore")


def _is_request_lost(context: ProbeContext, size: int, seconds: float) -> bool:
    """Send a text of this size for another model: the service's refusal is small."""
    body = echo.request_body(_text(size)).replace(MODEL.encode(), b"m" * len(MODEL), 1)
    try:
        with context.new_client(timeout=seconds) as client:
            return parse_refusal(context.post_chat(body, client)) is None
    except ProbeError as error:
        if error.id not in _LOST:
            raise
        return True


def _limit_error(found: _Found, are_requests: bool) -> ProbeError:
    total = found.response.received_bytes
    if are_requests:
        total = len(echo.request_body(_text(found.passes)))
    hangs = found.error.id in _HANGS
    facts: dict[str, Fact] = {
        "what": "requests" if are_requests else "responses",
        "passes": found.passes,
        "fails": found.fails,
        "total": total,
    }
    if hangs and total in _PACKET_BYTES:
        return ProbeError("between.mtu", **facts)
    return ProbeError("between.size_limit", outcome=_outcome(found.error), **facts)


def _outcome(error: ProbeError) -> str:
    if error.id in _HANGS:
        return "no response"
    status = error.facts.get("status")
    return f"status {status}" if status else "a closed connection"
