"""Whether the path is reliable: how often identical requests failed.

One of several servers behind an address may be down or have another certificate or an
old database. The step "asked again" sends a few identical requests, and the step
"steadiness" counts how often requests failed, by address and by certificate.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from itertools import cycle, islice
from operator import attrgetter

from readback.probe.common.background import BackgroundCall
from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.formatting import format_duration
from readback.probe.common.responsible import Authority, Path
from readback.probe.common.results import Diagnosis, ProbeError, Service
from readback.probe.connection import certificates
from readback.probe.service import answers, recognition
from readback.probe.transport.context import UNKNOWN, ProbeContext
from readback.probe.transport.exchanges import (
    NotedRequest,
    is_answered,
    mixed_requests,
    outcome_of,
    uses_up_limit,
    worse_than_equal,
)

_SAMPLES = 6
_HANDSHAKE = "TLS"
# Errors that can end a connection before the server's certificate arrives.
_CLOSED = ("http.no_connection", "http.cut")
_SHOWN_VALUES = 4
# Groups differ clearly if their failure rates differ by at least this much.
_CLEAR = 0.6
_FEWEST_ANSWERS = 3
# Seconds between requests, enough to stay below a rate limit that refuses with 503.
_SLOW_PAUSE = 1.1
_SLOW_REQUESTS = 4


def sample(context: ProbeContext) -> list[Diagnosis]:
    """Send a few requests for a path that no API has, to each address in turn."""

    def ask(address: str) -> bool:
        route = replace(context.route, addresses=(address,))
        with suppress(ProbeError), context.new_client(route) as client:
            response = context.ask(UNKNOWN, client=client, with_key=False)
            return answers.parse_refusal(response) is not None
        return False

    addresses = context.route.addresses
    if context.route.proxy:
        addresses = addresses[:1]
    order = islice(cycle(addresses), max(_SAMPLES, len(addresses)))
    calls = [BackgroundCall(partial(ask, address)) for address in order]
    are_of_readback = [call.result() for call in calls]
    is_endpoint = context.service == Service.ENDPOINT
    if not (is_endpoint and any(are_of_readback)):
        return []
    # The first answer came from something else, so recognize the service again.
    context.close()
    found = recognition.check(context)
    return found if context.service == Service.READBACK else []


def check(context: ProbeContext) -> list[Diagnosis]:
    origin = context.base_url.origin
    log = [noted for noted in context.budget.exchanges if noted.target == origin]
    limited = HTTPStatus.TOO_MANY_REQUESTS
    if status := context.budget.limit_status or (uses_up_limit(log) and limited):
        return [_rate_limit(context, log, status)]
    asked = list(filter(_is_request, log))
    if bad := _failures(log):
        if _uses_up(asked, bad) and _is_slow_enough(context, bad):
            return [_rate_limit(context, log, HTTPStatus.SERVICE_UNAVAILABLE)]
        return [_mixture(context, log, bad)]
    answered = {n.request for n in asked if is_answered(n) and not n.is_failure}
    if answered.issuperset(n.request for n in asked) and len(asked) >= _FEWEST_ANSWERS:
        count = sum(noted.status == limited for noted in asked)
        note = say("was_limited", count=count) if count else ""
        return [diagnose("steady.ok", total=len(asked), note=note)]
    return []


def _rate_limit(
    context: ProbeContext, log: list[NotedRequest], status: int
) -> Diagnosis:
    good = [noted for noted in log if noted.status and noted.status != status]
    is_accepted = any(noted.has_key and noted.badness == 0 for noted in good)
    moments = [noted.moment for noted in log if noted.status]
    return diagnose(
        "sometimes.rate_limited" if is_accepted else "sometimes.rate_limited_early",
        answered=len(good),
        seconds=format_duration(max(moments, default=0.0) - min(moments, default=0.0)),
        wait=context.budget.wait or say("a_few"),
        status=status,
    )


def _uses_up(asked: list[NotedRequest], bad: list[NotedRequest]) -> bool:
    """Return whether each failing address answered at first and then mostly refused."""
    for peer in {noted.peer for noted in bad}:
        here = [noted for noted in asked if noted.peer == peer]
        refused = [noted in bad for noted in here]
        at = refused.index(True) if True in refused else 0
        if at == 0 or 2 * sum(refused) < len(refused) - at:
            return False
    return True


def _is_slow_enough(context: ProbeContext, bad: list[NotedRequest]) -> bool:
    """Return whether slower requests succeed, which points to a rate limit."""
    statuses = {noted.status for noted in bad}
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


def _failures(log: list[NotedRequest]) -> list[NotedRequest]:
    """Return requests that failed intermittently, and others with the same outcome."""
    bad = worse_than_equal(log)
    outcomes = {noted.outcome for noted in bad}
    return [
        noted
        for noted in log
        if noted in bad or (noted.badness > 1 and noted.outcome in outcomes)
    ]


def _finding_of(noted: NotedRequest, has_tunnel: bool) -> tuple[str, str]:
    status = say("with_status", status=noted.status)
    if "html" in noted.form:
        status = say("web_page", status=noted.status)
    if noted.is_untrusted:
        return "sometimes.certificate", say("an_untrusted_certificate")
    if noted.error:
        is_closed = noted.error in _CLOSED and not noted.certificate
        is_proxy = noted.error.startswith("proxy.") or (has_tunnel and is_closed)
        finding = "sometimes.proxy" if is_proxy else "sometimes.fails"
        return finding, outcome_of(ProbeError(noted.error))
    if noted.status == HTTPStatus.UNAUTHORIZED and noted.has_key:
        return "sometimes.key", status
    if noted.finding.startswith("echo."):
        return "sometimes.fails", say("a_changed_text")
    return "sometimes.fails", status


def _is_request(noted: NotedRequest) -> bool:
    return noted.method != _HANDSHAKE


# The requests that each kind of failure can affect.
_PART_OF: dict[str, Callable[[NotedRequest], bool]] = {
    "sometimes.key": lambda noted: noted.has_key,
    "sometimes.certificate": lambda noted: _is_request(noted) and not noted.is_reused,
    "sometimes.proxy": lambda noted: _is_request(noted) and not noted.is_reused,
}


def _mixture(
    context: ProbeContext, log: list[NotedRequest], bad: list[NotedRequest]
) -> Diagnosis:
    has_tunnel = context.route.uses_tunnel
    findings = Counter(_finding_of(noted, has_tunnel)[0] for noted in bad)
    finding = findings.most_common(1)[0][0]
    is_part = _PART_OF.get(finding, _is_request)
    asked = [noted for noted in log if is_part(noted)]
    if not any(map(is_part, bad)) or all(noted in bad for noted in asked):
        # Only handshakes of the step "TLS" or requests on reused connections failed.
        asked = [noted for equal in mixed_requests(log) for noted in equal]
    bad = [noted for noted in bad if noted in asked]
    labels = Counter(_finding_of(noted, has_tunnel)[1] for noted in bad)
    outcomes = ", ".join(
        name if len(labels) == 1 else f"{name} ({count})"
        for name, count in labels.most_common()
    )
    good = [noted for noted in asked if noted not in bad]
    is_read = context.path in (Path.PROXY, Path.INTERCEPTED)
    cause = "proxy_fails" if is_read else "some_servers_fail"
    lone = {noted.peer for noted in bad} - {noted.peer for noted in good} - {""}
    until = say("let_it_retry")
    if lone:
        cause = "addresses_fail"
        until = say("use_the_others", good=", ".join({noted.peer for noted in good}))
    elif bad == asked[: len(bad)]:
        cause = "was_starting"
    if finding == "sometimes.certificate":
        cause = "some_certificates_differ"
        seen = {noted.certificate for noted in bad if noted.certificate}
        if any(certificates.read(der).is_interception for der in seen):
            context.authority = Authority.INTERCEPTOR
            cause = "some_are_decrypted"
    if finding == "sometimes.fails" and _loses_packets(bad):
        finding = "sometimes.lost"
    diagnosis = diagnose(
        finding,
        outcomes=outcomes,
        bad=len(bad),
        total=len(asked),
        cause=say(cause, addresses=", ".join(sorted(lone))),
        until=until,
    )
    return replace(diagnosis, details=tuple(_evidence(good, bad)))


def _loses_packets(bad: list[NotedRequest]) -> bool:
    """Return whether some failed requests could not connect and none got a response."""
    is_unopened = any(noted.error == "http.no_connection" for noted in bad)
    return is_unopened and not any(noted.status for noted in bad)


def _evidence(good: list[NotedRequest], bad: list[NotedRequest]) -> list[str]:
    lines = []
    for name, of in (("address", attrgetter("peer")), ("certificate", _certificate)):
        totals = Counter(filter(None, map(of, good + bad)))
        failures = Counter(filter(None, map(of, bad)))
        shares = [failures[value] / totals[value] for value in totals]
        if shares and max(shares) - min(shares) >= _CLEAR:
            counts = (
                say("bad_of_total", value=value, bad=failures[value], total=n)
                for value, n in totals.most_common(_SHOWN_VALUES)
            )
            lines.append(f"{say(name)}: {'; '.join(counts)}")
    return lines or [say("nothing_in_common")]


def _certificate(noted: NotedRequest) -> str:
    if not noted.certificate:
        return ""
    known = certificates.read(noted.certificate)
    return f"{known.serial} ({known.issuer}, {known.facts['until']})"
