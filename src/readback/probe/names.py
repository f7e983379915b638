"""The step "DNS": every address of the host's name, and how long that took."""

import socket
import threading
import time

from readback.probe.address import is_literal
from readback.probe.diagnoses import found
from readback.probe.findings import Finding, Trouble
from readback.probe.proxies import Route
from readback.probe.wording import foreign, milliseconds, seconds

_MOST = 8
_UNKNOWN = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


def check(route: Route, timeout: float) -> tuple[Finding, list[str]]:
    began = time.monotonic()
    addresses = _resolve(route, timeout)
    taken = time.monotonic() - began
    if is_literal(route.host):
        return found("dns.literal", host=route.host), addresses
    finding = found(
        "dns.ok",
        figure=milliseconds(taken),
        host=route.host,
        addresses=", ".join(addresses),
        milliseconds=round(taken * 1000, 3),
    )
    return finding, addresses


def _resolve(route: Route, timeout: float) -> list[str]:
    """Ask in a thread of its own: getaddrinfo knows no timeout."""
    answer: list[list[str] | OSError] = []
    asking = threading.Thread(target=_ask, args=(route, answer), daemon=True)
    asking.start()
    asking.join(timeout)
    if not answer:
        raise Trouble("dns.silent", timeout=seconds(timeout))
    if isinstance(said := answer[0], OSError):
        id = "dns.unknown" if said.errno in _UNKNOWN else "dns.failed"
        reason = foreign(said.strerror or str(said))
        raise Trouble(id, host=route.host, reason=reason)
    return said[:_MOST]


def _ask(route: Route, answer: list[list[str] | OSError]) -> None:
    try:
        rows = socket.getaddrinfo(route.host, route.port, type=socket.SOCK_STREAM)
    except OSError as fault:
        answer.append(fault)
    else:
        # A dictionary keeps the order, in which clients will try them.
        answer.append(list(dict.fromkeys(str(row[4][0]) for row in rows)))
