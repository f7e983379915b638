"""The step "TCP": which IP addresses accept a connection, and how fast."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from errno import EADDRNOTAVAIL, EAFNOSUPPORT, ECONNREFUSED, ENETUNREACH

from readback.probe.connection.race import connect
from readback.probe.connection.route import Route
from readback.probe.diagnoses import diagnose
from readback.probe.formatting import format_duration, format_seconds, sanitize
from readback.probe.results import Diagnosis, Fact, ProbeError

_NO_ROUTE = {EADDRNOTAVAIL, EAFNOSUPPORT, ENETUNREACH}


@dataclass(frozen=True)
class ConnectAttempt:
    """An attempt to connect to one IP address."""

    address: str
    seconds: float
    error: OSError | None

    @property
    def is_v6(self) -> bool:
        return ":" in self.address

    @property
    def reason(self) -> str:
        if self.error is None:
            return "connected"
        if isinstance(self.error, (socket.timeout, TimeoutError)):
            return "no response"
        return sanitize(self.error.strerror or str(self.error)).lower()


def check(
    route: Route, addresses: list[str], timeout: float
) -> tuple[Diagnosis, Route]:
    """Return the diagnosis, and the route with the fastest address first."""
    with ThreadPoolExecutor(len(addresses)) as pool:
        attempts = list(pool.map(lambda a: _attempt(a, route.port, timeout), addresses))
    reachable = [one for one in attempts if one.error is None]
    failed = [one for one in attempts if one.error is not None]
    if not reachable:
        raise _no_connection(route, failed, timeout)
    diagnosis = diagnose(
        _diagnosis_id(reachable, failed),
        figure=format_duration(min(one.seconds for one in reachable)),
        host=route.host,
        addresses=", ".join(one.address for one in reachable),
        unreachable=", ".join(f"{one.address} ({one.reason})" for one in failed),
        attempts=[_fact(one) for one in attempts],
    )
    fastest = sorted(reachable, key=lambda one: one.seconds)
    return diagnosis, replace(route, addresses=tuple(one.address for one in fastest))


def _diagnosis_id(reachable: list[ConnectAttempt], failed: list[ConnectAttempt]) -> str:
    if any(not _lacks_ipv6(one) for one in failed):
        return "tcp.partly"
    return "tcp.v6_only" if all(one.is_v6 for one in reachable) else "tcp.ok"


def _lacks_ipv6(attempt: ConnectAttempt) -> bool:
    """Return whether this machine lacks IPv6; clients then skip the address at once."""
    return attempt.is_v6 and _errno(attempt) in _NO_ROUTE


def _attempt(address: str, port: int, timeout: float) -> ConnectAttempt:
    started = time.monotonic()
    error = None
    try:
        connect([address], port, timeout).close()
    except OSError as raised:
        error = raised
    return ConnectAttempt(address, time.monotonic() - started, error)


def _no_connection(
    route: Route, failed: list[ConnectAttempt], timeout: float
) -> ProbeError:
    """Return the error for a host of which no address accepts a connection.

    A refused connection is reported first: it proves that the host is up.
    """
    refused = next((one for one in failed if _errno(one) == ECONNREFUSED), None)
    reported = refused or failed[0]
    if route.proxy:
        return ProbeError(
            "proxy.unreachable",
            proxy=str(route.proxy),
            variable=route.proxy.variable,
            reason=reported.reason,
        )
    facts: dict[str, Fact] = {
        "host": route.host,
        "port": route.port,
        "attempts": [_fact(one) for one in failed],
    }
    if refused:
        return ProbeError("tcp.refused", **facts)
    if isinstance(reported.error, (socket.timeout, TimeoutError)):
        return ProbeError("tcp.timeout", timeout=format_seconds(timeout), **facts)
    return ProbeError("tcp.unreachable", reason=reported.reason, **facts)


def _errno(attempt: ConnectAttempt) -> int | None:
    return attempt.error.errno if attempt.error else None


def _fact(attempt: ConnectAttempt) -> Fact:
    return {
        "address": attempt.address,
        "milliseconds": round(attempt.seconds * 1000, 3),
        "result": attempt.reason,
    }
