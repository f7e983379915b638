"""The step "TCP": which addresses accept a connection and how fast, or why none do."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.formatting import format_duration
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.connection import dns
from readback.probe.entered import base_url
from readback.probe.transport.connecting import (
    LOCAL_ERRORS,
    ConnectAttempt,
    Route,
    has_ipv6,
    try_all,
)
from readback.probe.transport.context import ProbeContext

ROOT = Path("/")
_CONTAINER_MARKS = (".dockerenv", "run/.containerenv")


def check(context: ProbeContext) -> list[Diagnosis]:
    """Try every address; keep those that can be reached, the fastest first."""
    route = context.route
    try:
        attempts = try_all(route.addresses, route.port, context.timeout)
    except OSError as error:  # Not even an attempt was possible.
        attempts = [ConnectAttempt(address, 0.0, error) for address in route.addresses]
    reachable = [attempt for attempt in attempts if attempt.error is None]
    if not reachable:
        raise _no_connection(route, attempts)
    fastest = sorted(reachable, key=lambda attempt: attempt.seconds)
    addresses = tuple(attempt.address for attempt in fastest)
    context.route = replace(route, addresses=addresses)
    return [
        diagnose(
            finding,
            figure=format_duration(min(attempt.seconds for attempt in reachable)),
            host=route.host,
            addresses=", ".join(attempt.address for attempt in reachable),
            unreachable=", ".join(
                f"{attempt.address} ({attempt.reason})" for attempt in failed
            ),
        )
        for finding, failed in _findings(route.host, attempts).items()
    ]


def _findings(
    host: str, attempts: list[ConnectAttempt]
) -> dict[str, list[ConnectAttempt]]:
    tried = [attempt for attempt in attempts if not attempt.lacks_family]
    v6 = [attempt for attempt in tried if attempt.is_v6]
    # A refused connection means that packets arrive, so IPv6 is not broken.
    is_dead = all(
        attempt.error and attempt.errno != errno.ECONNREFUSED for attempt in v6
    )
    broken = v6 if is_dead else []
    others = [attempt for attempt in tried if attempt.error and attempt not in broken]
    # Many servers listen on only one of localhost's addresses; clients try both.
    others = [] if base_url.is_loopback(host) else others
    findings = {"tcp.partly": others, "tcp.v6_broken": broken}
    found = {finding: failed for finding, failed in findings.items() if failed}
    return found or {"tcp.ok": []}


def _no_connection(route: Route, attempts: list[ConnectAttempt]) -> ProbeError:
    """Return the error, preferring a refusal, which proves that the host is up."""
    reported = min(
        attempts,
        key=lambda attempt: (attempt.errno != errno.ECONNREFUSED, attempt.lacks_family),
    )
    facts: dict[str, Fact] = {
        "host": route.host,
        "port": route.port,
        "addresses": ", ".join(attempt.address for attempt in attempts),
        "reason": reported.reason,
        "family": "IPv6" if reported.is_v6 else "IPv4",
        "container": "",
    }
    place = dns.range_of([attempt.address for attempt in attempts])
    is_name = not base_url.is_ip_address(route.host)
    if route.host in dns.CONTAINER_HOSTS:
        facts["container"] = say("listen_on_all")
    elif place == "here" and in_container():
        facts["container"] = say("in_a_container")
    elif place == "private" and is_name and base_url.is_public_name(route.host):
        facts["container"] = say("may_be_filtered")
    is_near = base_url.is_local(route.host) or place == "private"
    advice = "is_host_on" if is_near else "try_elsewhere"
    if route.proxy:
        advice = "start_proxy" if place == "here" else "correct_proxy"
        facts = {**route.proxy.facts(route.target), **facts}
        facts["container"] = say("proxy_of_host") if in_container() else ""
    facts["advice"] = say(advice, **facts)
    return ProbeError(_no_connection_id(route, place, reported), **facts)


def _no_connection_id(route: Route, place: str, reported: ConnectAttempt) -> str:
    code = reported.errno
    is_foreign = reported.lacks_family and (reported.is_v6 or has_ipv6())
    is_dropped = reported.is_timeout or code == errno.EHOSTUNREACH
    found = {
        "proxy.unreachable": route.proxy,
        # The error for a link-local address without an interface.
        "tcp.no_route": code == errno.EINVAL,
        "tcp.no_family": is_foreign,
        "tcp.forbidden": code in LOCAL_ERRORS,
        "tcp.fake_ip": place == "faked",
        # A load balancer without a server accepts a connection and resets it at once.
        "tcp.refused": code in (errno.ECONNREFUSED, errno.ECONNRESET),
        "tcp.blocked": is_dropped,
    }
    return next((name for name, is_it in found.items() if is_it), "tcp.no_route")


def in_container() -> bool:
    """Return whether we are in a container, where localhost is not the host machine."""
    is_marked = any((ROOT / mark).exists() for mark in _CONTAINER_MARKS)
    return is_marked or "KUBERNETES_SERVICE_HOST" in os.environ
