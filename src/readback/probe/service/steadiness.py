"""How steady the path is: a failure is believed only if it happens again.

One of several servers behind an address may be down, have another certificate or an old
database; then the same request is answered now and fails a moment later. The runner
passes every step through `settle`: if it fails, it is run again on new connections, to
another address of the host each time. If all attempts fail alike, the failure is
believed, and only then looked at more closely. If one of them succeeds, the run goes on
with what that one found. The step "asked again" sends a few equal
requests, and the step "steadiness" counts how often requests failed, by address and by
certificate.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from itertools import cycle, dropwhile, islice
from typing import NamedTuple

from readback.probe.common.background import BackgroundCall
from readback.probe.common.catalogue import diagnose, has_tag, say
from readback.probe.common.formatting import format_duration, listed
from readback.probe.common.results import Diagnosis, ProbeError, Service, Verdict
from readback.probe.connection import certificates
from readback.probe.transport.context import UNKNOWN, Check, ProbeContext, Step
from readback.probe.transport.exchanges import NotedRequest, mixed_requests, outcome_of

# What is not a failure, but still a problem, such as a header that is missing.
_REPEATS_OF_A_PROBLEM = 2
# After an attempt that takes longer than this, there is time for one more.
_LONG_SECONDS = 1.0
# What the other steps of the run need.
_RESERVED_REQUESTS = 12
_SAMPLES = 6
_HANDSHAKE = "TLS"
_SHOWN_VALUES = 4
# Two groups differ clearly if their shares of failures are this far apart.
_CLEAR = 0.6
_FEWEST_ANSWERS = 3
# What makes a person wait, with the time to connect.
_SLOW_SECONDS = 0.25
# A busy machine may hold up an answer, but not often for so long.
_LATE_SECONDS = 1.0
_LATE_FACTOR = 10
_FEWEST_LATE = 2
# Requests this far apart stay below a limit of the rate that refuses with 503.
_SLOW_PAUSE = 1.1
_SLOW_REQUESTS = 4


class _Attempt(NamedTuple):
    found: list[Diagnosis]
    error: ProbeError | None
    exchanges: list[NotedRequest]

    @property
    def is_problem(self) -> bool:
        problems = (Verdict.FAIL, Verdict.WARN)
        return bool(self.error) or any(one.verdict in problems for one in self.found)


def settle(context: ProbeContext, step: Step) -> list[Diagnosis]:
    """Run a step, and once more if it fails; believe what happens every time.

    If later steps follow one that succeeds at last, they go on with what it has set.
    """
    before, started = copy.copy(context), time.monotonic()
    first = _try(context, step.run)
    seconds = time.monotonic() - started
    error, is_late = first.error, time.monotonic() + seconds > context.deadline
    if error:
        context.failures[step.id] = error
    if error and has_tag(error.id, "limit"):
        _stop_at_rate_limit(context, error)
    if error and (has_tag(error.id, "certain") or not first.exchanges or is_late):
        raise error
    if not first.is_problem or not first.exchanges or is_late:
        return first.found
    attempts = [first]
    addresses = before.route.addresses
    repeats = _repeats(before, step, first, seconds)
    for number in range(1, repeats + 1):
        again = copy.copy(before)
        # Another address of the host comes first.
        at = number % max(1, len(addresses))
        again.route = replace(before.route, addresses=addresses[at:] + addresses[:at])
        if "client" in vars(again):
            again.client = again.new_client()
        attempts.append(_try(again, step.run))
        if not attempts[-1].is_problem:
            context.close()
            vars(context).update(vars(again))
            return attempts[-1].found
        again.close()
        # Once, so that the rhythm of a step is not that of a balancer.
        if error and number == repeats // 2 and "client" in vars(again):
            with suppress(ProbeError), again.new_client() as client:
                again.ask(UNKNOWN, client=client, with_key=False)
    if error is None:
        return first.found
    made = [one for attempt in attempts for one in attempt.exchanges]
    failures = {one.outcome for one in made if one.is_failure}
    # Other steps may have had the same failure now and then.
    mixed = mixed_requests(list(context.budget.exchanges))
    known = {one.outcome for equal in mixed for one in equal if one.badness}
    is_known = first.exchanges[-1].outcome in known
    if mixed_requests(made) or len(failures) > 1 or is_known:
        raise ProbeError("skipped.unsteady")
    if step.explain is None:
        raise error
    return step.explain(context, error, step.run)


def _repeats(context: ProbeContext, step: Step, first: _Attempt, seconds: float) -> int:
    """Return how often to run a step again, with what is left of time and requests."""
    if seconds > _LONG_SECONDS:
        return min(step.repeats, 1)
    cost, budget = max(1, len(first.exchanges)), context.budget
    left = (budget.limit - budget.spent - _RESERVED_REQUESTS) // cost
    wanted = step.repeats if first.error else min(step.repeats, _REPEATS_OF_A_PROBLEM)
    return min(wanted, max(left, 1))


def _try(context: ProbeContext, check: Check) -> _Attempt:
    """Run a step and note its failure at the last of its requests."""
    log = context.budget.exchanges
    start, error = len(log), None
    found: list[Diagnosis] = []
    try:
        result = check(context)
        found = result if isinstance(result, list) else [result]
    except ProbeError as failure:
        error = failure
    made = log[start:]
    if error and made and not has_tag(error.id, "certain"):
        made[-1].finding = error.id
    return _Attempt(found, error, made)


def _stop_at_rate_limit(context: ProbeContext, error: ProbeError) -> None:
    """Send no more, if it is the requests of this run that use up the limit."""
    log = list(context.budget.exchanges)
    limited = HTTPStatus.TOO_MANY_REQUESTS
    answered = [one for one in log if one.status not in (0, limited)]
    kinds = {(one.method, one.has_key) for one in answered}
    refused = [one for one in log if one.status == limited][-1:]
    is_alike = any((one.method, one.has_key) in kinds for one in refused)
    if not is_alike and answered:  # Is what was answered before refused now?
        with suppress(ProbeError), context.new_client() as client:
            answer = context.ask(UNKNOWN, client=client, with_key=False)
            is_alike = answer.status == limited
    if is_alike:
        context.budget.limit_status = limited
        context.budget.wait = str(error.facts.get("wait", say("a_few")))
        raise ProbeError("skipped.limit")


def sample(context: ProbeContext) -> list[Diagnosis]:
    """Ask a few times for a path that no API has, each address in turn."""

    def ask(address: str) -> None:
        route = replace(context.route, addresses=(address,))
        with suppress(ProbeError), context.new_client(route) as client:
            context.ask(UNKNOWN, client=client, with_key=False)

    addresses = context.route.addresses
    if context.route.proxy:
        addresses = addresses[:1]
    turns = islice(cycle(addresses), max(_SAMPLES, len(addresses)) if addresses else 0)
    calls = [BackgroundCall(partial(ask, one)) for one in turns]
    for call in calls:
        call.result()
    return []


def check(context: ProbeContext) -> list[Diagnosis]:
    """Say how steady the path was in this run, if there is anything to say."""
    origin = context.base_url.origin
    log = [one for one in context.budget.exchanges if one.target == origin]
    limited = HTTPStatus.TOO_MANY_REQUESTS
    answers = dropwhile(limited.__eq__, (one.status for one in log if one.status))
    if status := context.budget.limit_status or (limited in answers and limited):
        return [_rate_limit(context, log, status)]
    asked = list(filter(_is_request, log))
    if bad := _failures(log):
        if _is_slow_enough(context, bad):
            # If only the first requests were refused, the service was starting.
            is_start = bad == asked[: len(bad)]
            unavailable = HTTPStatus.SERVICE_UNAVAILABLE
            return [] if is_start else [_rate_limit(context, log, unavailable)]
        return [_mixture(log, bad)]
    answered = [one for one in asked if one.status and not one.is_failure]
    if _is_slow(context, answered):
        return [_slow(answered)]
    if len(answered) == len(asked) >= _FEWEST_ANSWERS:
        return [diagnose("steady.ok", total=len(asked))]
    return []


def _rate_limit(
    context: ProbeContext, log: list[NotedRequest], status: int
) -> Diagnosis:
    good = [one for one in log if one.status and one.status != status]
    is_accepted = any(one.has_key and one.badness == 0 for one in good)
    moments = [one.moment for one in log if one.status]
    return diagnose(
        "sometimes.rate_limited" if is_accepted else "sometimes.rate_limited_early",
        answered=len(good),
        seconds=format_duration(max(moments, default=0.0) - min(moments, default=0.0)),
        wait=context.budget.wait or say("a_few"),
        status=status,
    )


def _is_slow_enough(context: ProbeContext, bad: list[NotedRequest]) -> bool:
    """Return whether requests with a pause pass, so that only a rate is limited."""
    statuses = {one.status for one in bad}
    seconds = _SLOW_PAUSE * _SLOW_REQUESTS + context.timeout
    is_late = time.monotonic() + seconds > context.deadline
    if statuses != {HTTPStatus.SERVICE_UNAVAILABLE} or is_late:
        return False
    for _ in range(_SLOW_REQUESTS):
        time.sleep(_SLOW_PAUSE)
        try:
            with context.new_client() as client:
                response = context.ask(UNKNOWN, client=client, with_key=False)
        except ProbeError:
            return False
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return False
    return True


def _is_slow(context: ProbeContext, answered: list[NotedRequest]) -> bool:
    """Return whether all texts or new connections are slow, or some equal requests."""
    # Only a Readback answers at once. The fastest answer says most about the path: this
    # machine may have held up the others.
    of_readback = answered if context.service == Service.READBACK else []
    texts = [one.seconds for one in of_readback if one.body]
    fresh = [one.seconds for one in of_readback if not one.is_reused]
    if min(texts, default=0.0) > _SLOW_SECONDS or min(fresh, default=0) > _SLOW_SECONDS:
        return True
    median = statistics.median([one.seconds for one in answered] or [0.0])
    limit = max(_LATE_SECONDS, _LATE_FACTOR * median)
    late = [one.request for one in answered if one.seconds > limit]
    others = {one.request for one in answered if one.seconds <= limit}
    return len(late) >= _FEWEST_LATE and not others.isdisjoint(late)


def _slow(answered: list[NotedRequest]) -> Diagnosis:
    times = [one.seconds for one in answered]
    return diagnose(
        "steady.slow",
        total=len(times),
        slowest=format_duration(max(times)),
        median=format_duration(statistics.median(times)),
    )


def _failures(log: list[NotedRequest]) -> list[NotedRequest]:
    """Return the requests that failed, although an equal one did not, or not alike."""
    bad: set[NotedRequest] = set()
    for group in mixed_requests(log):
        good = min(group, key=lambda one: one.badness)
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
    status = say("with_status", status=one.status)
    if "html" in one.form:
        status = say("web_page", status=one.status)
    if one.is_untrusted:
        return "sometimes.certificate", say("an_untrusted_certificate")
    if one.error.startswith("proxy."):
        return "sometimes.proxy", ""
    if one.error:
        return "sometimes.fails", outcome_of(ProbeError(one.error))
    if one.status == HTTPStatus.UNAUTHORIZED and one.has_key:
        return "sometimes.key", status
    if one.finding.startswith("echo."):
        return "sometimes.fails", say("a_changed_text")
    return "sometimes.fails", status


def _is_request(one: NotedRequest) -> bool:
    return one.method != _HANDSHAKE


# Of which requests each kind of failure is a part.
_PART_OF: dict[str, Callable[[NotedRequest], bool]] = {
    "sometimes.key": lambda one: one.has_key,
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
    diagnosis = diagnose(kind, outcomes=outcomes, bad=len(bad), total=len(asked))
    return _with_evidence(diagnosis, [one for one in asked if one not in bad], bad)


def _with_evidence(
    diagnosis: Diagnosis, good: list[NotedRequest], bad: list[NotedRequest]
) -> Diagnosis:
    """Add how often requests failed at each address and with each certificate."""
    lines = []
    for property, of in (("address", _peer), ("certificate", _certificate)):
        totals = Counter(filter(None, map(of, good + bad)))
        failures = Counter(filter(None, map(of, bad)))
        shares = [failures[value] / totals[value] for value in totals]
        if shares and max(shares) - min(shares) >= _CLEAR:
            counts = (
                say("bad_of_total", value=value, bad=failures[value], total=n)
                for value, n in totals.most_common(_SHOWN_VALUES)
            )
            lines.append(f"{say(property)}: {'; '.join(counts)}")
    return replace(diagnosis, details=tuple(lines or [say("nothing_in_common")]))


def _peer(one: NotedRequest) -> str:
    return one.peer


def _certificate(one: NotedRequest) -> str:
    if not one.certificate:
        return ""
    known = certificates.read(one.certificate)
    return f"{known.serial} ({known.issuer}, {known.facts['until']})"
