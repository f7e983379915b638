"""The step "DNS": resolves the host name and times the lookup."""

import socket
import threading
import time

from readback.probe.base_url import is_ip_address
from readback.probe.diagnoses import diagnose
from readback.probe.formatting import format_duration, format_seconds, sanitize
from readback.probe.proxies import Route
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
    """Resolve the host in a separate thread, because getaddrinfo has no timeout."""
    outcome: list[list[str] | OSError] = []
    thread = threading.Thread(target=_look_up, args=(route, outcome), daemon=True)
    thread.start()
    thread.join(timeout)
    if not outcome:
        raise ProbeError("dns.silent", timeout=format_seconds(timeout))
    if isinstance(result := outcome[0], OSError):
        id = "dns.unknown" if result.errno in _UNKNOWN else "dns.failed"
        reason = sanitize(result.strerror or str(result))
        raise ProbeError(id, host=route.host, reason=reason)
    return result[:_MAX_ADDRESSES]


def _look_up(route: Route, outcome: list[list[str] | OSError]) -> None:
    try:
        rows = socket.getaddrinfo(route.host, route.port, type=socket.SOCK_STREAM)
    except OSError as error:
        outcome.append(error)
    else:
        # A dict removes duplicates and keeps the order in which clients try them.
        outcome.append(list(dict.fromkeys(str(row[4][0]) for row in rows)))
