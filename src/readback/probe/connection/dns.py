"""The step "DNS": resolves the host name, times the lookup and judges the addresses.

Some address ranges have a special meaning: private, faked, or this machine itself.
"""

from __future__ import annotations

import difflib
import errno
import ipaddress
import os
import re
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.formatting import decimal, format_duration, sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.entered import PROVIDERS
from readback.probe.entered.base_url import is_ip_address, is_loopback, is_public_name
from readback.probe.transport.connecting import Route, resolve_within
from readback.probe.transport.context import ProbeContext

_MAX_ADDRESSES = 8
# A resolver answers within milliseconds, but waiting for a broken one takes seconds.
_SLOW_SECONDS = 1.0
# A name server may resolve a name at first and fail a moment later.
_LOOKUPS = 4
HOSTS_FILE = Path("/etc/hosts")
if os.name == "nt":
    _WINDOWS = os.environ.get("SYSTEMROOT", r"C:\Windows")
    HOSTS_FILE = Path(_WINDOWS, r"System32\drivers\etc\hosts")
CONTAINER_HOSTS = (
    *("host.docker.internal", "gateway.docker.internal", "host.containers.internal"),
    "host.minikube.internal",
)
# Well-known names that people mistype.
_WELL_KNOWN = (
    *("localhost", "host.docker.internal", "host.containers.internal"),
    *PROVIDERS,
)
# A name from documentation that was not replaced (RFC 2606, and what people write).
_EXAMPLE = re.compile(
    r"(^|\.)example(\.(com|net|org))?$|(^|[.-])(your|my-(company|domain|resource))[.-]?"
    r"|(^|\.)(x{3,}|company|domain|host(name)?|(resource|service|server)-?name)\."
)
# Equal to EAI_NONAME on some systems.
_NO_DATA = getattr(socket, "EAI_NODATA", socket.EAI_NONAME)
_UNKNOWN = {socket.EAI_NONAME, _NO_DATA}


class _Lookup(NamedTuple):
    addresses: list[str]
    error: OSError | None
    seconds: float


def check(context: ProbeContext) -> list[Diagnosis]:
    """Resolve the host, repeatedly if that is quick; add its addresses to the route."""
    route = context.route
    timeout = context.timeout
    lookups = [_look_up(route, timeout)]
    is_asked = not is_ip_address(route.host) and not is_loopback(route.host)
    # Repeat only what a name server has answered quickly.
    while is_asked and len(lookups) < _LOOKUPS and lookups[-1].seconds < _SLOW_SECONDS:
        lookups.append(_look_up(route, timeout))
    good = [lookup for lookup in lookups if lookup.error is None]
    bad = [lookup for lookup in lookups if lookup.error]
    if not good:
        raise _failed(route, lookups[0], timeout)
    elapsed = good[0].seconds
    # A name server may return a different address each time.
    named = chain.from_iterable(lookup.addresses for lookup in good)
    addresses = tuple(dict.fromkeys(named))[:_MAX_ADDRESSES]
    context.route = replace(route, addresses=addresses)
    found = diagnose(
        _judge(route, addresses, elapsed),
        figure=format_duration(elapsed),
        seconds=format_duration(elapsed),
        host=route.host,
        addresses=", ".join(addresses),
        milliseconds=round(elapsed * 1000, 3),
    )
    if not bad:
        return [found]
    sometimes = diagnose(
        "sometimes.dns",
        bad=len(bad),
        total=len(lookups),
        host=route.host,
        reason=sanitize(str(getattr(bad[0].error, "strerror", ""))),
    )
    return [found, sometimes]


def _look_up(route: Route, timeout: float) -> _Lookup:
    started = time.monotonic()
    try:
        addresses = resolve_within(route.host, route.port, timeout)
    except OSError as error:
        return _Lookup([], error, time.monotonic() - started)
    return _Lookup(addresses, None, time.monotonic() - started)


def _failed(route: Route, lookup: _Lookup, timeout: float) -> ProbeError:
    error = lookup.error
    assert error is not None
    if isinstance(error, (socket.timeout, TimeoutError)):
        return _error("dns.failed", route, reason=_late(timeout))
    reason = sanitize(error.strerror or str(error))
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return _error("tcp.forbidden", route, port=route.port, reason=reason)
    # The resolver asked several times and got no answer.
    if error.errno == socket.EAI_AGAIN and lookup.seconds > _SLOW_SECONDS:
        reason = _late(lookup.seconds)
    if error.errno not in _UNKNOWN:
        return _error("dns.failed", route, reason=reason)
    if route.proxy:
        advice = say("correct_proxy", variable=route.proxy.variable)
        reason = say("not_resolved")
        return _error("proxy.unreachable", route, reason=reason, advice=advice)
    # The name exists but has no address, so a typo is unlikely.
    is_there = error.errno == _NO_DATA != socket.EAI_NONAME
    is_there = is_there and is_public_name(route.host) and not meant(route.host)
    return _error("dns.no_address" if is_there else "dns.unknown", route)


def _error(finding: str, route: Route, **facts: Fact) -> ProbeError:
    if route.proxy:
        facts = {**route.proxy.facts(route.target), **facts}
    near = meant(route.host)
    said = say("you_probably_mean", near=near) if near else ""
    if _EXAMPLE.search(route.host):
        said = say("is_example")
    # Only containers resolve such names.
    is_container = route.host in CONTAINER_HOSTS or "." not in route.host
    container = say("names_in_containers") if is_container else ""
    if route.host.endswith(".local"):
        container = say("names_in_local")
    own: dict[str, Fact] = {"host": route.host, "near": said, "container": container}
    return ProbeError(finding, **{**facts, **own})


def _late(seconds: float) -> str:
    return say("late", seconds=decimal(f"{seconds:.1f}"))


def meant(host: str) -> str:
    """Return a well-known name that differs from this one by a letter or two, or ""."""
    near = next(iter(difflib.get_close_matches(host, _WELL_KNOWN, 1, cutoff=0.88)), "")
    # Names in the same domain have the same owner.
    is_same_owner = host.split(".")[-2:] == near.split(".")[-2:]
    return "" if is_same_owner else near


def is_in_hosts_file(host: str) -> bool:
    try:
        lines = HOSTS_FILE.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(host in line.partition("#")[0].lower().split()[1:] for line in lines)


def _judge(route: Route, addresses: Sequence[str], elapsed: float) -> str:
    ok = "dns.slow" if elapsed > _SLOW_SECONDS else "dns.ok"
    if route.proxy or is_ip_address(route.host) or not is_public_name(route.host):
        return ok
    if is_in_hosts_file(route.host):
        return "dns.hosts_file"
    return "dns.blocked" if range_of(addresses) == "here" else ok


# The first range that contains all of a host's addresses says what they are: faked by a
# VPN client (the ranges in the documentation of Clash, Surge, Xray and sing-box), this
# machine, or private (RFC 1918, 4193 and 6598, which Tailscale also uses, and
# link-local addresses).
_RANGES = {
    "faked": "198.18.0.0/15 fc00::/18",
    "here": "127.0.0.0/8 ::1 0.0.0.0 ::",
    "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 169.254.0.0/16 "
    "fc00::/7 fe80::/10",
}


def range_of(addresses: Sequence[str]) -> str:
    """Return the name of the range that contains all of these addresses, or ""."""
    ips = [ipaddress.ip_address(address.partition("%")[0]) for address in addresses]
    for name, texts in _RANGES.items():
        networks = list(map(ipaddress.ip_network, texts.split()))
        if all(any(ip in network for network in networks) for ip in ips):
            return name
    return ""
