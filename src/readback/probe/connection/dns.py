"""The step "DNS": resolves the host name, times the lookup and judges the addresses."""

from __future__ import annotations

import errno
import secrets
import socket
import string
import time

from readback.probe.common.formatting import format_duration, format_seconds, sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.connection import reserved
from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import is_ip_address
from readback.probe.transport.connecting import resolve_within
from readback.probe.transport.route import Route

_MAX_ADDRESSES = 8
_UNKNOWN = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


def check(route: Route, timeout: float) -> tuple[Diagnosis, list[str]]:
    started = time.monotonic()
    addresses = _resolve(route, timeout)
    elapsed = time.monotonic() - started
    if is_ip_address(route.host):
        return diagnose("dns.literal", host=route.host), addresses
    diagnosis = diagnose(
        _diagnosis_id(route, addresses, timeout),
        figure=format_duration(elapsed),
        host=route.host,
        addresses=", ".join(addresses),
        milliseconds=round(elapsed * 1000, 3),
    )
    return diagnosis, addresses


def _resolve(route: Route, timeout: float) -> list[str]:
    try:
        addresses = resolve_within(route.host, route.port, timeout)
    except (socket.timeout, TimeoutError):
        raise _error("dns.silent", route, timeout=format_seconds(timeout)) from None
    except OSError as error:
        reason = sanitize(error.strerror or str(error))
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise ProbeError("tcp.too_many_files", reason=reason) from None
        is_unknown = error.errno in _UNKNOWN
        id = _unknown_id(route) if is_unknown else "dns.failed"
        raise _error(id, route, reason=reason) from None
    return addresses[:_MAX_ADDRESSES]


def _error(id: str, route: Route, **facts: Fact) -> ProbeError:
    if route.unused_proxy and reserved.is_public_name(route.host):
        facts = {"reason": "the name cannot be resolved", "setting": route.unused_proxy}
        id = "proxies.system_needed"
    if route.proxy:
        facts |= {"variable": route.proxy.variable}
    kind = reserved.private_name(route.host)
    return ProbeError(id, host=route.host, kind=kind, **facts)


def _unknown_id(route: Route) -> str:
    if route.proxy:
        return "proxy.unknown_host"
    if reserved.is_mdns_name(route.host):
        return "dns.unknown_mdns"
    return "dns.unknown_private" if reserved.private_name(route.host) else "dns.unknown"


def _diagnosis_id(route: Route, addresses: list[str], timeout: float) -> str:
    if route.proxy or not reserved.is_public_name(route.host):
        return "dns.ok"
    if reserved.are_faked(addresses):
        return "dns.fake_ip"
    is_local = reserved.are_this_machine(addresses)
    if not is_local and not reserved.are_private(addresses):
        return "dns.ok"
    if _has_same_answer_for_any_name(addresses, timeout):
        return "dns.answers_everything"
    return "dns.this_machine" if is_local else "dns.private"


def _has_same_answer_for_any_name(addresses: list[str], timeout: float) -> bool:
    """Return whether a name that does not exist has the same addresses."""
    letters = (secrets.choice(string.ascii_lowercase) for _ in range(24))
    try:
        # The last dot keeps the resolver from adding the domain of this network.
        found = resolve_within(f"{''.join(letters)}.com.", 443, timeout)
    except OSError:
        return False
    return bool(set(addresses) & set(found))
