"""Steps for a Readback: its contract, its latency, and its clock."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from http import HTTPStatus

from readback.contract import MAX_CONTENT_BYTES, MODEL_LIST
from readback.probe.common.formatting import format_duration, format_offset, sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.connection import proxies, stores
from readback.probe.diagnoses import diagnose
from readback.probe.entered import address, base_url
from readback.probe.service import answers, instead
from readback.probe.service.echo import request_body, send_text
from readback.probe.transport.connecting import resolve_within
from readback.probe.transport.context import CHAT, MODELS, ProbeContext
from readback.probe.transport.exchanges import ProbeResponse, Timing

# What the service says about a header or a key that is not well-formed.
_OF_FORM = re.compile(
    "not a valid key|Authorization|Bearer|^The key |key of another service"
)
_TRANSIENT = ("rate_limited", "unavailable", "internal_error")
_HELP_PAGE = "/docs/errors"
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


def check_access(context: ProbeContext) -> Diagnosis:
    if not context.key:
        raise ProbeError("key.none")
    if not context.key.is_readback_key:
        raise ProbeError("key.prefix")
    without_key, response = context.models_without_key, context.ask(MODELS)
    if answers.inside(response.json, "choices"):
        raise ProbeError("echo.swapped")
    # A list that was changed on the way is a finding of the next step.
    is_list = isinstance(response.json, dict) or answers.model_ids(response) is not None
    if response.status == HTTPStatus.OK and is_list:
        if error := instead.error_in_success(response):
            raise error
        context.models, sent_to = response, context.key_sent_to
        return diagnose("key.accepted", figure=response.figure, sent_to=sent_to)
    refusal = answers.parse_refusal(response)
    if refusal is None or refusal.code != "invalid_key":
        raise instead.unexpected_response(response)
    request_id = response.headers.get("X-Request-Id")
    if request_id and request_id == without_key.headers.get("X-Request-Id"):
        raise ProbeError("echo.replayed")
    id = "key.refused"
    if refusal == answers.parse_refusal(without_key):
        id = "key.stripped" if refusal.is_explained else "key.refused_or_lost"
    elif refusal.is_explained and _OF_FORM.search(refusal.detail):
        # The form of the key has been checked, so the service should accept it.
        id = "key.changed"
    raise ProbeError(id, detail=refusal.detail, sent_to=context.key_sent_to)


def check_models(context: ProbeContext) -> Diagnosis:
    # Added fields are a finding of the step "in between".
    is_changed = any(answers.faults(context.models.json, MODEL_LIST))
    return diagnose("models.changed" if is_changed else "models.ok")


def check_limit(context: ProbeContext) -> Diagnosis:
    response = context.ask(CHAT, request_body("x" * (MAX_CONTENT_BYTES + 1)))
    if _refusal_code(response) == "content_too_large":
        return diagnose("limit.refused", figure=str(response.status))
    if response.status == HTTPStatus.OK:
        return diagnose("limit.ignored")
    return diagnose("limit.refused_elsewhere", status=response.status)


def check_parameter(context: ProbeContext) -> Diagnosis:
    response = context.ask(f"{MODELS}?probe=1")
    code = _refusal_code(response)
    if code == "not_found":
        return diagnose("parameter.refused", figure=str(response.status))
    if response.status != HTTPStatus.OK and not code:
        raise instead.unexpected_response(response)
    return diagnose("parameter.ignored", status=response.status)


def check_reuse(context: ProbeContext) -> Diagnosis:
    with context.new_client() as client:
        first, second = (context.ask(MODELS, client=client) for _ in range(2))
    is_kept = second.timing.connect is None
    return diagnose(
        "reuse.ok" if is_kept else "reuse.closed",
        figure=format_duration(second.timing.total),
        first_milliseconds=round(first.timing.total * 1000, 3),
        second_milliseconds=round(second.timing.total * 1000, 3),
    )


def _refusal_code(response: ProbeResponse) -> str:
    """Return the code of a refusal, or ""; raise `ProbeError` if it is temporary."""
    refusal = answers.parse_refusal(response)
    if refusal and refusal.code in _TRANSIENT:
        raise instead.unexpected_response(response)
    return refusal.code if refusal else ""


def check_cabinet(context: ProbeContext) -> Diagnosis:
    # The help link of a refusal leads to a page of the cabinet.
    page = context.help_link.partition("#")[0]
    is_help = page.startswith(("http://", "https://")) and page.endswith(_HELP_PAGE)
    cabinet = context.cabinet_url or (page.removesuffix(_HELP_PAGE) if is_help else "")
    if not cabinet:
        return diagnose("cabinet.unknown")
    shown = _address_json(context, cabinet.rstrip("/"))
    current = _normalize(shown.get("base_url"))
    if current == str(context.base_url):
        return diagnose("cabinet.same", cabinet=sanitize(cabinet))
    facts = {
        "current": sanitize(current),
        "since": sanitize(str(shown.get("since") or "")),
    }
    moved = _normalize(shown.get("previous")) == str(context.base_url)
    return diagnose("cabinet.moved" if moved else "cabinet.differs", **facts)


def _address_json(context: ProbeContext, cabinet: str) -> dict[str, object]:
    """Ask the cabinet, without the key, through the proxy set for its host."""
    try:
        target = base_url.split(f"{cabinet}/address.json")
        _, route = proxies.check(target)
        # The cabinet may use https even if the API does not.
        needs_trust = target.is_encrypted and context.trusted is None
        trusted = stores.together() if needs_trust else None
        with context.new_client(route, trusted=trusted) as client:
            context.cabinet = response = client.request(target.path)
        context.cabinet_host = target.host
    except ProbeError as error:
        if error.id.startswith("skipped."):
            raise
        reason = "it cannot be reached"
    else:
        content = response.json
        if response.status == HTTPStatus.OK and isinstance(content, dict):
            return content
        reason = f"it responded with {response.status}"
    raise ProbeError("cabinet.unreachable", cabinet=sanitize(cabinet), reason=reason)


def _normalize(url: object) -> str:
    """Return an address in the form in which two addresses can be compared."""
    try:
        return str(address.parse(str(url or ""))[0])
    except ProbeError:
        return str(url)


def check_idle(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    if not context.idle_seconds:
        return []
    id = _use_after_pause(context)
    if id == "between.idle_reset":
        # The service may have closed the connection in the moment of the request.
        id = _use_after_pause(context)
    return diagnose(id, seconds=format_duration(context.idle_seconds))


def _use_after_pause(context: ProbeContext) -> str:
    # Only this connection has a pause.
    with context.new_client(is_noted=False) as client:
        context.ask_unknown(client)
        time.sleep(context.idle_seconds)
        try:
            second = context.ask_unknown(client)
        except ProbeError as error:
            if error.id not in _DEAD:
                raise
            # A finding only if a new connection works at the same moment.
            with context.new_client() as another:
                context.ask_unknown(another)
            return _DEAD[error.id]
    is_kept = second.timing.connect is None
    return "between.idle_ok" if is_kept else "between.idle_closed"


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
            if error.id.startswith("skipped.") and timings:
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
    found = []
    for one in responses:
        # A cache may have kept it, with the date of that time.
        if one.date and "Age" not in one.headers:
            then = one.date.timestamp() + _ROUNDING_SECONDS
            found.append(then - (one.received_at - one.timing.answer / 2))
    return percentile(found, 50) if found else None
