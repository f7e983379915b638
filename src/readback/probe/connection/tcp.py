"""The step "TCP": which IP addresses accept a connection, and how fast."""

from __future__ import annotations

from dataclasses import replace
from errno import ECONNREFUSED

from readback.probe.common.formatting import format_duration
from readback.probe.common.results import Diagnosis, Fact
from readback.probe.connection.no_connection import no_connection
from readback.probe.diagnoses import diagnose
from readback.probe.transport.connecting import ConnectAttempt, try_all
from readback.probe.transport.route import Route


def check(
    route: Route, addresses: list[str], timeout: float
) -> tuple[list[Diagnosis], Route]:
    """Return the diagnoses, and the route with the fastest address first."""
    try:
        attempts = try_all(addresses, route.port, timeout)
    except OSError as error:  # Not even an attempt was possible.
        attempts = [ConnectAttempt(address, 0.0, error) for address in addresses]
    reachable = [one for one in attempts if one.error is None]
    if not reachable:
        raise no_connection(route, attempts, timeout)
    diagnoses = [
        diagnose(
            id,
            figure=format_duration(min(one.seconds for one in reachable)),
            host=route.host,
            addresses=", ".join(one.address for one in reachable),
            unreachable=", ".join(f"{one.address} ({one.reason})" for one in failed),
            attempts=[_fact(one) for one in attempts],
        )
        for id, failed in _findings(attempts).items()
    ]
    fastest = sorted(reachable, key=lambda one: one.seconds)
    return diagnoses, replace(route, addresses=tuple(one.address for one in fastest))


def _findings(attempts: list[ConnectAttempt]) -> dict[str, list[ConnectAttempt]]:
    """Return the ids of what was found, each with the attempts that failed."""
    tried = [one for one in attempts if not one.lacks_ipv6]
    v6 = [one for one in tried if one.is_v6]
    broken = v6 if all(map(_got_nowhere, v6)) else []
    others = [one for one in tried if one.error and one not in broken]
    findings = {"tcp.partly": others, "tcp.v6_broken": broken}
    found = {id: failed for id, failed in findings.items() if failed}
    if found:
        return found
    only_v6 = all(one.is_v6 for one in attempts if one.error is None)
    return {"tcp.v6_only" if only_v6 else "tcp.ok": []}


def _got_nowhere(attempt: ConnectAttempt) -> bool:
    """Return whether nothing responded; a refusal would prove that packets arrive."""
    return attempt.error is not None and attempt.errno != ECONNREFUSED


def _fact(attempt: ConnectAttempt) -> Fact:
    return {
        "address": attempt.address,
        "milliseconds": round(attempt.seconds * 1000, 3),
        "result": attempt.reason,
    }
