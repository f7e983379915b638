"""What a run says of a path on which equal requests had different outcomes.

It says how often requests failed, and looks for what tells the failures from the rest.
Nothing is sent from here.
"""

from __future__ import annotations

import ipaddress
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from http import HTTPStatus

from readback.probe.common.formatting import format_duration, listed
from readback.probe.common.results import Diagnosis, StepResult, Verdict
from readback.probe.connection import certificates
from readback.probe.diagnoses import diagnose
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import LATE, MARKS, NotedRequest, mixed_requests

_HANDSHAKE = "TLS"
_SHOWN_MOMENTS = 3
_SHOWN_VALUES = 4
_LARGE_BYTES = 1024
# Two groups differ clearly if their shares of failures are this far apart.
_CLEAR = 0.6
_SURE = ("address", "certificate")
# The form of a refusal of Readback; many other services use another.
_REFUSAL = "{error,"
_NO_DIFFERENCE = (
    "nothing tells them apart: address, certificate, new or reused connection, method, "
    "size, User-Agent"
)
# A packet is lost now and then on every network. As a run sends at most 60 requests,
# this is one in twenty.
_FEWEST_LOSSES = 3
# A packet may also be sent again because this machine is busy, but then soon.
_RESENDING_SECONDS = 0.1
_FEWEST_ANSWERS = 3
# A busy machine may hold up an answer, but not often for so long.
_LATE_SECONDS = 1.0
_LATE_FACTOR = 10
_FEWEST_LATE = 2

# What is concluded from requests that differ in one thing, if the others are alike.
_COMPARISONS = {
    *("between.openai_blocked", "between.probe_blocked", "between.program_blocked"),
    *("between.expect_refused", "between.mtu", "between.size_limit"),
    *("between.idle_dead", "between.idle_reset", "reuse.closed"),
    *("limit.refused_elsewhere", "parameter.ignored", "tls.store_refuses"),
    "key.readback_elsewhere",
    *("tls.only_certifi", "tls.only_system", "tls.no_machine_store"),
    *("tls.strict", "tls.strict_newer", "tls.partial", "tls.partial_older"),
}


def judge(context: ProbeContext) -> Diagnosis | None:
    """Return how steady the path was in this run, if there is anything to say."""
    log = _log(context)
    if context.budget.is_rate_limited:
        return _rate_limit(context, log)
    bad = _failures(log)
    if bad:
        return _mixture(log, bad)
    asked = list(filter(_is_request, log))
    answered = _answered(asked)
    resent = _resent(answered)
    if len(resent) >= _FEWEST_LOSSES:
        return diagnose(
            "sometimes.loss",
            bad=len(resent),
            total=len(answered),
            packets=sum(one.resent for one in resent),
            fastest=format_duration(min(one.seconds for one in answered)),
            slowest=format_duration(max(one.seconds for one in answered)),
        )
    if late := _late(answered):
        return late
    if len(answered) == len(asked) >= _FEWEST_ANSWERS:
        return diagnose("steady.ok", total=len(asked))
    return None


def may_lose_packets(context: ProbeContext) -> bool:
    """Return whether packets seem to be lost, but too few to be sure."""
    answered = _answered(filter(_is_request, _log(context)))
    return 0 < len(_resent(answered)) < _FEWEST_LOSSES


def _log(context: ProbeContext) -> list[NotedRequest]:
    origin = context.base_url.origin
    return [one for one in context.budget.exchanges if one.target == origin]


def _answered(asked: Iterable[NotedRequest]) -> list[NotedRequest]:
    return [one for one in asked if one.status and not one.is_failure]


def _resent(answered: list[NotedRequest]) -> list[NotedRequest]:
    """Return the requests that took longer because packets had to be sent again."""
    fastest = min((one.seconds for one in answered), default=0.0)
    return [
        one
        for one in answered
        if one.resent
        and one.seconds > fastest + _RESENDING_SECONDS
        and not ipaddress.ip_address(one.peer).is_loopback
    ]


def _late(answered: list[NotedRequest]) -> Diagnosis | None:
    """Return what is said if some answers took much longer than to equal requests."""
    if not answered:
        return None
    median = statistics.median(one.seconds for one in answered)
    limit = max(_LATE_SECONDS, _LATE_FACTOR * median)
    late = [one for one in answered if one.seconds > limit]
    others = [one for one in answered if one.seconds <= limit]
    if len(late) < _FEWEST_LATE or not (
        {one.request for one in late} & {one.request for one in others}
    ):
        return None
    diagnosis = diagnose(
        "sometimes.slow",
        bad=len(late),
        total=len(answered),
        slowest=format_duration(max(one.seconds for one in late)),
        median=format_duration(median),
    )
    return _with_evidence(diagnosis, others, late, "slow answers", "was slow in")


def is_comparison(result: StepResult) -> bool:
    """Return whether a finding holds only if equal requests have equal outcomes."""
    is_failed_pause = result.step == "idle" and result.diagnosis.verdict == Verdict.FAIL
    return is_failed_pause or result.diagnosis.id in _COMPARISONS


def _rate_limit(context: ProbeContext, log: list[NotedRequest]) -> Diagnosis:
    refused = [one for one in log if one.status == HTTPStatus.TOO_MANY_REQUESTS]
    before = [one for one in log if one.status and one.moment < refused[0].moment]
    is_accepted = any(one.has_key and one.badness == 0 for one in before)
    return diagnose(
        "sometimes.rate_limited" if is_accepted else "sometimes.rate_limited_early",
        answered=len(before),
        seconds=format_duration(refused[0].moment - before[0].moment),
        wait=context.budget.wait,
    )


def _failures(log: list[NotedRequest]) -> list[NotedRequest]:
    """Return the requests that failed, although an equal one did not, or not alike."""
    bad: set[NotedRequest] = set()
    for group in mixed_requests(log):
        common = Counter(one.outcome for one in group)
        good = min(
            group,
            key=lambda one: (
                one.badness,
                not one.form.startswith(_REFUSAL),
                -common[one.outcome],
            ),
        )
        is_good = not good.is_failure
        bad |= {one for one in group if one.outcome != good.outcome or not is_good}
    outcomes = {one.outcome for one in bad}
    return [
        one
        for one in log
        if one in bad or (one.badness > 1 and one.outcome in outcomes)
    ]


def _kind(one: NotedRequest) -> tuple[str, str]:
    """Return the id of the diagnosis for a failure, and what the request got."""
    status = f"{one.status} with a web page" if "html" in one.form else f"{one.status}"
    if one.is_untrusted:
        return "sometimes.certificate", "an untrusted certificate"
    if one.error.startswith("proxy."):
        return "sometimes.proxy", one.error
    if one.error in LATE:
        return "sometimes.silent", "no response"
    if one.error:
        return "sometimes.reset", "a closed connection"
    if one.is_failure:
        return "sometimes.status", status
    if one.status == HTTPStatus.UNAUTHORIZED and one.has_key:
        return "sometimes.key", status
    if one.finding.startswith("echo."):
        return "sometimes.changed", one.finding
    return "sometimes.other_service", status


def _is_request(one: NotedRequest) -> bool:
    return one.method != _HANDSHAKE


# Of which requests each kind of failure is a part.
_PART_OF: dict[str, Callable[[NotedRequest], bool]] = {
    "sometimes.key": lambda one: one.has_key,
    "sometimes.changed": lambda one: one.method == "POST",
    "sometimes.certificate": lambda one: _is_request(one) and not one.is_reused,
    "sometimes.proxy": lambda one: _is_request(one) and not one.is_reused,
}


def _mixture(log: list[NotedRequest], bad: list[NotedRequest]) -> Diagnosis:
    kind = Counter(_kind(one)[0] for one in bad).most_common(1)[0][0]
    is_part = _PART_OF.get(kind, _is_request)
    asked = [one for one in log if is_part(one)]
    if not any(map(is_part, bad)):  # Only the handshakes of the step "TLS" are known.
        asked = [one for group in mixed_requests(log) for one in group]
    bad = [one for one in bad if one in asked]
    labels = Counter(_kind(one)[1] for one in bad)
    outcomes = listed(
        name if len(labels) == 1 else f"{name} ({count})"
        for name, count in labels.most_common()
    )
    id = "sometimes.differs" if len(bad) == len(asked) else kind
    diagnosis = diagnose(id, bad=len(bad), total=len(asked), outcomes=outcomes)
    return _with_evidence(diagnosis, [one for one in asked if one not in bad], bad)


def _with_evidence(
    diagnosis: Diagnosis,
    good: list[NotedRequest],
    bad: list[NotedRequest],
    name: str = "failures",
    verb: str = "failed",
) -> Diagnosis:
    """Add a line for each property by which failures can be told from the rest."""
    lines = []
    for property, of in _PROPERTIES.items():
        totals = Counter(filter(None, map(of, good + bad)))
        failures = Counter(filter(None, map(of, bad)))
        least = 1 if property in _SURE else _FEWEST_ANSWERS
        known = [value for value in totals if totals[value] >= least]
        shares = [failures[value] / totals[value] for value in known]
        if shares and max(shares) - min(shares) >= _CLEAR:
            counts = (
                f"{value} {verb} {failures[value]} of {total}"
                for value, total in totals.most_common(_SHOWN_VALUES)
            )
            lines.append(f"{property}: {'; '.join(counts)}")
    moments = [time.strftime("%H:%M:%S", time.gmtime(one.moment)) for one in bad]
    shown = ", ".join(dict.fromkeys(moments[:_SHOWN_MOMENTS]))
    evidence = (*(lines or [_NO_DIFFERENCE]), f"{name} at {shown} UTC")
    return replace(diagnosis, details=evidence)


def _certificate(one: NotedRequest) -> str:
    if not one.certificate:
        return ""
    known = certificates.read(one.certificate)
    return f"{known.serial} of {known.issuer}, valid until {known.facts['until']},"


def _mark(name: str) -> Callable[[NotedRequest], str]:
    return lambda one: one.marks.get(name, "(none)") if one.status else ""


_PROPERTIES: dict[str, Callable[[NotedRequest], str]] = {
    "address": lambda one: one.peer,
    "certificate": _certificate,
    "connection": lambda one: "reused" if one.is_reused else "new",
    "method": lambda one: one.method,
    "size": lambda one: "over 1 KiB" if len(one.body) > _LARGE_BYTES else "up to 1 KiB",
    "User-Agent": lambda one: one.headers.get("User-Agent", ""),
    "key": lambda one: "with the key" if one.has_key else "without it",
    **{name: _mark(name) for name in MARKS},
}
