"""Decides whether a failure is believed: only if no identical request succeeded.

The runner passes every step to `settle`. A step that fails is run again on new
connections, each time to the host's next address. If one of the attempts succeeds, the
run continues with what that attempt found.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple

from readback.probe.common.catalogue import has_tag, say
from readback.probe.common.results import Diagnosis, ProbeError, Verdict
from readback.probe.transport import exchanges
from readback.probe.transport.context import UNKNOWN, Check, ProbeContext, Step
from readback.probe.transport.exchanges import NotedRequest

# How often to repeat a step that found a problem but did not fail.
_REPEATS_OF_A_PROBLEM = 2
# After an attempt that takes longer than this, there is time for only one more.
_LONG_SECONDS = 1.0
# The number of requests to leave for the other steps.
_RESERVED_REQUESTS = 12


class _Attempt(NamedTuple):
    found: list[Diagnosis]
    error: ProbeError | None
    exchanges: list[NotedRequest]
    seconds: float

    @property
    def is_problem(self) -> bool:
        problems = (Verdict.FAIL, Verdict.WARN)
        return bool(self.error) or any(
            found.verdict in problems for found in self.found
        )

    @property
    def failed(self) -> NotedRequest | None:
        """The request that caused the error: the last one with the error's status."""
        status = self.error.facts.get("status", 0) if self.error else 0
        alike = [noted for noted in self.exchanges if noted.status == status]
        return next(iter(reversed(alike or self.exchanges)), None)

    def is_final(self, context: ProbeContext) -> bool:
        """Return whether to accept the result instead of trying again."""
        error = self.error
        is_certain = error and (error.is_final or has_tag(error.id, "certain"))
        is_certain = is_certain or self._may_lock_account(context)
        is_late = time.monotonic() + self.seconds > context.deadline
        return bool(is_certain) or not self.exchanges or is_late

    def _may_lock_account(self, context: ProbeContext) -> bool:
        """Return whether repeating a refused login to a proxy may lock the account."""
        if self.error is None or self.error.id != "proxy.login":
            return False
        proxy = context.route.proxy
        has_passed = any(not noted.error for noted in context.budget.exchanges)
        return bool(proxy and proxy.login) and not has_passed


def settle(context: ProbeContext, step: Step) -> list[Diagnosis]:
    """Run a step; if it fails, repeat it and continue with an attempt that succeeds."""
    before = copy.copy(context)
    first = _try(context, step.run)
    if first.error:
        context.failures[step.id] = first.error
        _stop_at_rate_limit(context, first.error)
    attempts = [first]
    is_final = first.is_final(context)
    if first.is_problem and not is_final:
        for again in _repeated(before, step, first):
            attempts.append(_try(again, step.run))
            if not attempts[-1].is_problem:
                context.close()
                vars(context).update(vars(again))
                return attempts[-1].found
            again.close()
    if first.error is None:
        return first.found
    # If no connection was opened, the failure may be intermittent.
    if is_final and first.error.id != "http.no_connection":
        raise first.error
    error = _believed(context, attempts)
    _stop_at_rate_limit(context, error)
    raise error


def _repeated(
    before: ProbeContext, step: Step, first: _Attempt
) -> Iterator[ProbeContext]:
    """Yield a context for each repeat of a step, each with another address first."""
    addresses = before.route.addresses
    repeats = _repeats(before, step, first)
    for number in range(1, repeats + 1):
        again = copy.copy(before)
        at = number % max(1, len(addresses))
        again.route = replace(before.route, addresses=addresses[at:] + addresses[:at])
        if "client" in vars(again):
            again.client = again.new_client()
        yield again
        # Send an extra request, so that repeats do not always reach the same server
        # behind a load balancer.
        if first.error and number == repeats // 2 and "client" in vars(again):
            with suppress(ProbeError), again.new_client() as client:
                again.ask(UNKNOWN, client=client, with_key=False)


def _believed(context: ProbeContext, attempts: list[_Attempt]) -> ProbeError:
    """Return the failure to believe; raise `ProbeError` if identical ones succeeded."""
    bad = exchanges.worse_than_equal(context.budget.exchanges)
    worse = {noted.outcome for noted in bad}
    believed = []
    for attempt in attempts:
        failed = attempt.failed
        if attempt.error and not (failed and failed.outcome in worse):
            believed.append(attempt.error)
    if not believed:
        raise ProbeError("skipped.unsteady")
    counts = Counter(error.id for error in believed)
    return max(believed, key=lambda error: counts[error.id])


def _repeats(context: ProbeContext, step: Step, first: _Attempt) -> int:
    if first.seconds > _LONG_SECONDS:
        return min(step.repeats, 1)
    cost = max(1, len(first.exchanges))
    budget = context.budget
    left = (budget.limit - budget.spent - _RESERVED_REQUESTS) // cost
    wanted = step.repeats if first.error else min(step.repeats, _REPEATS_OF_A_PROBLEM)
    return min(wanted, max(left, 1))


def _try(context: ProbeContext, check: Check) -> _Attempt:
    """Run a step; record its failure on the request that caused it."""
    log = context.budget.exchanges
    started = time.monotonic()
    start = len(log)
    error = None
    found: list[Diagnosis] = []
    try:
        result = check(context)
        found = result if isinstance(result, list) else [result]
    except ProbeError as failure:
        error = failure
    attempt = _Attempt(found, error, log[start:], time.monotonic() - started)
    if error and attempt.failed and not has_tag(error.id, "certain"):
        attempt.failed.finding = error.id
    return attempt


def _stop_at_rate_limit(context: ProbeContext, error: ProbeError) -> None:
    """Stop sending requests if this run itself has used up a rate limit."""
    if not has_tag(error.id, "limit"):
        return
    log = context.budget.exchanges
    if not exchanges.uses_up_limit(log) and any(map(exchanges.is_answered, log)):
        # Repeat a request that was answered before.
        with suppress(ProbeError), context.new_client() as client:
            context.ask(UNKNOWN, client=client, with_key=False)
    if exchanges.uses_up_limit(log):
        context.budget.limit_status = HTTPStatus.TOO_MANY_REQUESTS
        context.budget.wait = str(error.facts.get("wait", say("a_few")))
        raise ProbeError("skipped.limit")
