"""Tells apart why no address of a host accepts a connection."""

from __future__ import annotations

import errno

from readback.probe.common.formatting import format_seconds
from readback.probe.common.results import Fact, ProbeError
from readback.probe.connection import container, reserved
from readback.probe.entered.base_url import is_ip_address
from readback.probe.transport.connecting import ConnectAttempt
from readback.probe.transport.route import Route

# What went wrong on this machine or close to it, by the error of the system.
_LOCAL = {
    errno.EMFILE: "tcp.too_many_files",
    errno.ENFILE: "tcp.too_many_files",
    errno.EADDRNOTAVAIL: "tcp.no_free_port",
    errno.EACCES: "tcp.forbidden",
    errno.EPERM: "tcp.forbidden",
    getattr(errno, "WSAEACCES", errno.EACCES): "tcp.forbidden",
}
_ON_THE_WAY = {
    errno.ENETUNREACH: "tcp.no_route",
    errno.EHOSTUNREACH: "tcp.rejected",
}
_IN_CONTAINER = {
    container.DOCKER: "tcp.in_docker",
    container.PODMAN: "tcp.in_podman",
    container.KUBERNETES: "tcp.in_kubernetes",
    container.OTHER: "tcp.in_container",
}


def no_connection(
    route: Route, attempts: list[ConnectAttempt], timeout: float
) -> ProbeError:
    """Return the error for a host of which no address accepts a connection.

    A refused connection is reported first: it proves that the host is up.
    """
    reported = min(attempts, key=_rank)
    facts: dict[str, Fact] = {
        "host": route.host,
        "port": route.port,
        "addresses": ", ".join(one.address for one in attempts),
        "reason": reported.reason,
        "timeout": format_seconds(timeout),
        "setting": route.unused_proxy,
        "attempts": [
            {"address": one.address, "result": one.reason} for one in attempts
        ],
    }
    if route.proxy:
        facts |= {"proxy": str(route.proxy), "variable": route.proxy.variable}
    return ProbeError(_id(route, attempts, reported), **facts)


def _rank(attempt: ConnectAttempt) -> int:
    if attempt.errno == errno.ECONNREFUSED:
        return 0
    return 2 if attempt.lacks_ipv6 else 1


def _id(route: Route, attempts: list[ConnectAttempt], reported: ConnectAttempt) -> str:
    addresses = [one.address for one in attempts]
    is_here = reserved.are_this_machine(addresses)
    is_refused = reported.errno == errno.ECONNREFUSED
    in_container = container.kind() if is_here and is_refused else ""
    if route.proxy:
        return "proxy.in_container" if in_container else "proxy.unreachable"
    is_public = not is_ip_address(route.host) and reserved.is_public_name(route.host)
    if is_public and is_here:
        return "tcp.blocked_name"
    if reported.lacks_ipv6:
        return "tcp.no_ipv6"
    if reported.errno in _LOCAL:
        return _LOCAL[reported.errno]
    if reserved.are_faked(addresses):
        return "tcp.fake_ip"
    if is_refused:
        return _IN_CONTAINER.get(in_container, "tcp.refused")
    if reserved.are_private(addresses):
        return "tcp.private"
    if route.unused_proxy:
        return "proxies.system_needed"
    if reported.is_timeout:
        return "tcp.timeout"
    return _ON_THE_WAY.get(reported.errno or 0, "tcp.unreachable")
