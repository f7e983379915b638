"""The step "DNS": resolves the host name, times the lookup and judges the addresses.

Some addresses have a reserved meaning: private, faked, this machine itself.
"""

from __future__ import annotations

import difflib
import errno
import ipaddress
import os
import secrets
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.formatting import format_duration, sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.entered.base_url import is_ip_address, is_public_name
from readback.probe.transport.connecting import Route, resolve_within
from readback.probe.transport.context import ProbeContext

_MAX_ADDRESSES = 8
# A resolver answers within milliseconds; one that is down costs seconds.
_SLOW_SECONDS = 1.0
_WINDOWS_FOLDER = r"System32\drivers\etc"
HOSTS_FILE = (
    Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), _WINDOWS_FOLDER, "hosts")
    if os.name == "nt"
    else Path("/etc/hosts")
)
CONTAINER_HOSTS = (
    *("host.docker.internal", "gateway.docker.internal", "host.containers.internal"),
    "host.minikube.internal",
)
# The names of which people mistype one.
_WELL_KNOWN = (
    *("localhost", "host.docker.internal", "host.containers.internal"),
    *("api.openai.com", "api.anthropic.com", "api.deepseek.com", "api.groq.com"),
    *("api.mistral.ai", "openrouter.ai", "generativelanguage.googleapis.com"),
)
# RFC 2606 §3: it always exists, and belongs to nobody.
_PUBLIC_NAME = "example.com."
_UNKNOWN = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


def check(context: ProbeContext) -> Diagnosis:
    """Resolve the host, and add its addresses to the route."""
    route, timeout = context.route, context.timeout
    started = time.monotonic()
    try:
        found = resolve_within(route.host, route.port, timeout)
        elapsed, addresses = time.monotonic() - started, found[:_MAX_ADDRESSES]
    except (socket.timeout, TimeoutError):
        raise _error("dns.failed", route, reason=_late(timeout)) from None
    except OSError as error:
        reason = sanitize(error.strerror or str(error))
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise ProbeError("tcp.exhausted", reason=reason) from None
        # A resolver that has asked several times, and got no answer.
        waited = time.monotonic() - started
        if error.errno == socket.EAI_AGAIN and waited > _SLOW_SECONDS:
            reason = _late(waited)
        id = "dns.failed"
        if error.errno in _UNKNOWN and route.proxy:
            id, reason = "proxy.unreachable", say("not_resolved")
        elif error.errno in _UNKNOWN:
            is_public = is_public_name(route.host) and "%" not in route.host
            is_container = route.host in CONTAINER_HOSTS
            is_known = (is_public and not is_container) or bool(_meant(route.host))
            id = "dns.unknown" if is_known else "dns.unknown_private"
        raise _error(id, route, reason=reason) from None
    context.route = replace(route, addresses=tuple(addresses))
    return diagnose(
        _judge(route, addresses, timeout, elapsed),
        figure=format_duration(elapsed),
        seconds=format_duration(elapsed),
        host=route.host,
        addresses=", ".join(addresses),
        milliseconds=round(elapsed * 1000, 3),
    )


def _error(id: str, route: Route, **facts: Fact) -> ProbeError:
    is_public = is_public_name(route.host)
    # A name that a resolver does not know may still be known to the proxy, but only if
    # the resolver does not know any public name.
    is_alone = bool(route.unused_proxy) and is_public
    if is_alone and not _resolves(_PUBLIC_NAME, route.port):
        reason = say("not_resolved")
        facts = {"reason": reason, "setting": route.unused_proxy}
        id = "proxies.system_needed"
    if route.proxy:
        proxy, variable = str(route.proxy), route.proxy.variable
        facts |= {"proxy": proxy, "variable": variable, "container": ""}
    near = _meant(route.host)
    said = say("you_probably_mean", near=near) if near else ""
    if route.unused_proxy and not is_public:
        why = say("proxy_unused", setting=route.unused_proxy)
        said = f" {diagnose('proxies.none', why=why).sentence}"
    return ProbeError(id, host=route.host, near=said, **facts)


def _late(seconds: float) -> str:
    return say("late", seconds=f"{seconds:.1f}")


def _resolves(name: str, port: int) -> bool:
    try:
        return bool(resolve_within(name, port, _SLOW_SECONDS))
    except OSError:
        return False


def _meant(host: str) -> str:
    """Return the well-known name that differs from this one by a letter or two."""
    found = difflib.get_close_matches(host, _WELL_KNOWN, 1, cutoff=0.88)
    return found[0] if found and found[0] != host else ""


def is_in_hosts_file(host: str) -> bool:
    """Return whether a line of the hosts file of this machine sets the name."""
    try:
        lines = HOSTS_FILE.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(host in line.partition("#")[0].lower().split()[1:] for line in lines)


def _judge(route: Route, addresses: list[str], timeout: float, elapsed: float) -> str:
    """Return the id of the finding."""
    ok = "dns.slow" if elapsed > _SLOW_SECONDS else "dns.ok"
    if route.proxy or is_ip_address(route.host) or not is_public_name(route.host):
        return ok
    if is_in_hosts_file(route.host):
        return "dns.hosts_file"
    found = range_of(addresses)
    if found not in ("here", "private"):
        return ok
    # A name that does not exist. The last dot keeps the resolver from adding the domain
    # of this network.
    nowhere = f"x{secrets.token_hex(12)}.com."
    with suppress(OSError):
        if set(addresses) & set(resolve_within(nowhere, 443, timeout)):
            return "dns.answers_everything"
    return "dns.blocked" if found == "here" else ok


# The first range that contains all addresses of a host says what they are. The faked
# ones are those that the documentation of Clash, Surge, Xray and sing-box names; then
# this machine; then RFC 1918, 4193 and 6598 (which Tailscale uses, too), and link-local
# addresses.
_RANGES = {
    "faked": "198.18.0.0/15 fc00::/18",
    "here": "127.0.0.0/8 ::1 0.0.0.0 ::",
    "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 169.254.0.0/16 "
    "fc00::/7 fe80::/10",
}


def range_of(addresses: Sequence[str]) -> str:
    """Return which of the ranges all of these addresses are in, or ""."""
    ips = [ipaddress.ip_address(one.partition("%")[0]) for one in addresses]
    for name, texts in _RANGES.items():
        networks = list(map(ipaddress.ip_network, texts.split()))
        if all(any(ip in network for network in networks) for ip in ips):
            return name
    return ""
