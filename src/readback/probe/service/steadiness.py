"""How steady the path is: a failure is believed only if it happens again.

One of several servers behind an address may be down, have another certificate or an old
database; then the same request is answered now and fails a moment later. The runner
passes every step through `settle`: if it fails, it is run again on new connections, to
another address of the host each time, once with another request in between, so that the
rhythm of a step does not coincide with that of a balancer. If all attempts fail alike,
the failure is believed, and only then looked at more closely. If one of them succeeds,
the run goes on with what that one found, and the module `mixtures` says at its end how
often requests failed, and what those that failed have in common.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import NamedTuple

from readback.probe.common.background import BackgroundCall
from readback.probe.common.results import Diagnosis, ProbeError, Service, Verdict
from readback.probe.diagnoses import diagnose
from readback.probe.service import mixtures
from readback.probe.transport.context import Check, ProbeContext, Step
from readback.probe.transport.exchanges import NotedRequest, mixed_requests
from readback.probe.transport.handshake import shake, unverified

# What is not a failure, but still a problem, such as a header that is missing.
_REPEATS_OF_A_PROBLEM = 2
# Attempts that take longer than this are made side by side.
_LONG_SECONDS = 1.0
_SIDE_BY_SIDE = 3
# What the other steps of the run need.
_RESERVED_REQUESTS = 12
_SAMPLES = 6
_REQUESTS_TO_CONFIRM_LOSS = 24
# Once is enough.
_CERTAIN = {"echo.swapped", "echo.replayed"}
_RATE_LIMITS = {"http.rate_limited", "between.rate_limited", "endpoint.rate_limited"}


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
    if error and error.id in _RATE_LIMITS:
        _stop_at_rate_limit(context, error)
    if error and (error.id in _CERTAIN or not first.exchanges or is_late):
        raise error
    if not first.is_problem or not first.exchanges or is_late:
        return first.found
    repeats = step.repeats if error else min(step.repeats, _REPEATS_OF_A_PROBLEM)
    attempts = [first]
    for other, again in _repeated(before, step.run, first, repeats, seconds):
        attempts.append(again)
        if again.is_problem or step.in_background:
            other.close()
        else:
            context.close()
            vars(context).update(vars(other))
        if not again.is_problem:
            return again.found
    if error is None:
        return first.found
    made = [one for attempt in attempts for one in attempt.exchanges]
    failures = {one.outcome for one in made if one.is_failure}
    # Steps side by side may get the failures of a balancer by turns.
    mixed = mixed_requests(list(context.budget.exchanges))
    known = {one.outcome for equal in mixed for one in equal if one.badness}
    is_known = first.exchanges[-1].outcome in known
    if mixed_requests(made) or len(failures) > 1 or is_known:
        raise ProbeError("skipped.unsteady")
    if step.explain is None:
        raise error
    return step.explain(context, error)


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
    # Steps beside this one make requests, too, in their own threads.
    me = threading.get_ident()
    made = [one for one in log[start:] if one.thread == me]
    if error and made and error.id not in _CERTAIN:
        made[-1].finding = error.id
    return _Attempt(found, error, made)


def _repeated(
    context: ProbeContext, check: Check, first: _Attempt, repeats: int, seconds: float
) -> Iterator[tuple[ProbeContext, _Attempt]]:
    """Yield further attempts, each with its own copy of what the run knows."""
    is_long = seconds > _LONG_SECONDS
    cost = max(1, len(first.exchanges))
    budget = context.budget
    left = (budget.limit - budget.spent - _RESERVED_REQUESTS) // (cost + 1)
    repeats = min(repeats, max(left, 1), _SIDE_BY_SIDE if is_long else repeats)
    addresses, calls = context.route.addresses, []
    for number in range(1, repeats + 1):
        again = copy.copy(context)
        # Another address of the host comes first.
        at = number % max(1, len(addresses))
        again.route = replace(context.route, addresses=addresses[at:] + addresses[:at])
        if "client" in vars(again):
            again.client = again.new_client()
        call = BackgroundCall(lambda again=again: _try(again, check))  # type: ignore[misc]
        calls.append((again, call))
        if not is_long:
            yield again, call.result()
            # Not each time, or every attempt of one request would be an odd one.
            if first.error and number == repeats // 2:
                _ask_between(again)
    for again, call in calls if is_long else []:
        yield again, call.result()


def _ask_between(context: ProbeContext) -> None:
    with suppress(ProbeError):
        if "client" not in vars(context):  # Whether HTTP works is not known yet.
            host = context.base_url.host
            shake(context.route, unverified(), context.timeout, host)
            return
        with context.new_client() as client:
            context.ask_unknown(client)


def _stop_at_rate_limit(context: ProbeContext, error: ProbeError) -> None:
    """Send no more, if it is the requests of this run that use up the limit."""
    log = list(context.budget.exchanges)
    limited = HTTPStatus.TOO_MANY_REQUESTS
    answered = [one for one in log if one.status not in (0, limited)]
    kinds = {(one.method, one.has_key) for one in answered}
    refused = [one for one in log if one.status == limited][-1:]
    is_alike = any((one.method, one.has_key) in kinds for one in refused)
    if not is_alike and answered:  # Is what was answered before refused now?
        _ask_between(context)
        is_alike = context.budget.exchanges[-1].status == limited
    if is_alike:
        context.budget.is_rate_limited = True
        context.budget.wait = str(error.facts.get("wait", "some"))
        raise ProbeError("skipped.rate_limited")


def sampled(context: ProbeContext) -> list[str]:
    """Return the addresses of the host that no request goes to by itself.

    A run with another API sends few requests, so it asks a few times more.
    """
    if "route" not in vars(context):
        return []
    route = context.route
    addresses = [] if route.proxy else list(route.addresses[1:_SAMPLES])
    if context.service == Service.ENDPOINT:
        addresses += route.addresses * (_SAMPLES - len(addresses))
    return addresses[:_SAMPLES]


def sample(context: ProbeContext) -> Diagnosis:
    """Ask further addresses of the host for a path that no API has, without the key."""

    def ask(address: str) -> None:
        route = replace(context.route, addresses=(address,))
        with suppress(ProbeError), context.new_client(route) as client:
            context.ask_unknown(client)

    calls = [BackgroundCall(partial(ask, one)) for one in sampled(context)]
    for call in calls:
        call.result()
    return diagnose("again.asked", requests=len(calls))


def confirm_loss(context: ProbeContext) -> None:
    """Ask a few times more if packets seem to be lost, but too few to be sure."""
    if "client" not in vars(context) or not mixtures.may_lose_packets(context):
        return
    with suppress(ProbeError), context.new_client() as client:
        for _ in range(_REQUESTS_TO_CONFIRM_LOSS):
            if time.monotonic() > context.deadline:
                return
            context.ask_unknown(client)
