"""The step "TCP": which IP addresses accept a connection, and how fast.

It also opens raw connections for the steps that work below HTTP.
"""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from errno import EADDRNOTAVAIL, EAFNOSUPPORT, ECONNREFUSED, ENETUNREACH

from readback.probe.connection.proxies import Route
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
        if isinstance(self.error, TimeoutError):
            return "no response"
        return sanitize(self.error.strerror or str(self.error)).lower()


def check(route: Route, addresses: list[str], timeout: float) -> Diagnosis:
    with ThreadPoolExecutor(len(addresses)) as pool:
        attempts = list(pool.map(lambda a: _attempt(a, route.port, timeout), addresses))
    reachable = [one for one in attempts if one.error is None]
    failed = [one for one in attempts if one.error is not None]
    if not reachable:
        raise _no_connection(route, failed, timeout)
    return diagnose(
        _diagnosis_id(reachable, failed),
        figure=format_duration(min(one.seconds for one in reachable)),
        host=route.host,
        addresses=", ".join(one.address for one in reachable),
        unreachable=", ".join(f"{one.address} ({one.reason})" for one in failed),
        attempts=[_fact(one) for one in attempts],
    )


def connect(route: Route, timeout: float) -> socket.socket:
    return socket.create_connection((route.host, route.port), timeout)


def first_bytes(route: Route, timeout: float) -> bytes:
    """Send a plain HTTP request and return the first bytes of the response."""
    try:
        with connect(route, timeout) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % route.host.encode())
            return sock.recv(64)
    except OSError:
        return b""


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
        socket.create_connection((address, port), timeout).close()
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
    if route.proxy_url:
        return ProbeError(
            "proxy.unreachable",
            proxy=route.proxy,
            variable=route.variable,
            reason=reported.reason,
        )
    facts: dict[str, Fact] = {
        "host": route.host,
        "port": route.port,
        "attempts": [_fact(one) for one in failed],
    }
    if refused:
        return ProbeError("tcp.refused", **facts)
    if isinstance(reported.error, TimeoutError):
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
