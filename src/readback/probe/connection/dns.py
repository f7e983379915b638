"""The step "DNS": resolves the host name and times the lookup."""

from __future__ import annotations

import socket
import time

from readback.probe.background import BackgroundCall
from readback.probe.connection.opening import resolve
from readback.probe.connection.route import Route
from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import is_ip_address
from readback.probe.formatting import format_duration, format_seconds, sanitize
from readback.probe.results import Diagnosis, ProbeError

_MAX_ADDRESSES = 8
_UNKNOWN = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


def check(route: Route, timeout: float) -> tuple[Diagnosis, list[str]]:
    started = time.monotonic()
    addresses = _resolve(route, timeout)
    elapsed = time.monotonic() - started
    if is_ip_address(route.host):
        return diagnose("dns.literal", host=route.host), addresses
    diagnosis = diagnose(
        "dns.ok",
        figure=format_duration(elapsed),
        host=route.host,
        addresses=", ".join(addresses),
        milliseconds=round(elapsed * 1000, 3),
    )
    return diagnosis, addresses


def _resolve(route: Route, timeout: float) -> list[str]:
    """Resolve the host in the background, because getaddrinfo has no timeout."""
    try:
        look_up = BackgroundCall(lambda: resolve(route.host, route.port))
        addresses = look_up.result(timeout)
    except (socket.timeout, TimeoutError):
        raise ProbeError("dns.silent", timeout=format_seconds(timeout)) from None
    except OSError as error:
        id = "dns.unknown" if error.errno in _UNKNOWN else "dns.failed"
        reason = sanitize(error.strerror or str(error))
        raise ProbeError(id, host=route.host, reason=reason) from None
    return addresses[:_MAX_ADDRESSES]
