"""The step "TCP": which of the addresses take a connection, and how fast.

Also where raw connections are opened for the steps that need one below HTTP.
"""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from errno import EADDRNOTAVAIL, EAFNOSUPPORT, ECONNREFUSED, ENETUNREACH

from readback.probe.diagnoses import found
from readback.probe.findings import Fact, Finding, Trouble
from readback.probe.proxies import Route
from readback.probe.wording import foreign, milliseconds, seconds

_NO_WAY = {EADDRNOTAVAIL, EAFNOSUPPORT, ENETUNREACH}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to connect to one address."""

    address: str
    seconds: float
    fault: OSError | None

    @property
    def is_v6(self) -> bool:
        return ":" in self.address

    @property
    def reason(self) -> str:
        if self.fault is None:
            return "connected"
        if isinstance(self.fault, TimeoutError):
            return "no answer"
        return foreign(self.fault.strerror or str(self.fault)).lower()


def check(route: Route, addresses: list[str], timeout: float) -> Finding:
    with ThreadPoolExecutor(len(addresses)) as pool:
        attempts = list(pool.map(lambda a: _attempt(a, route.port, timeout), addresses))
    alive = [one for one in attempts if one.fault is None]
    dead = [one for one in attempts if one.fault is not None]
    if not alive:
        raise _nothing(route, dead, timeout)
    return found(
        _verdict(alive, dead),
        figure=milliseconds(min(one.seconds for one in alive)),
        host=route.host,
        addresses=", ".join(one.address for one in alive),
        dead=", ".join(f"{one.address} ({one.reason})" for one in dead),
        attempts=[_fact(one) for one in attempts],
    )


def connect(route: Route, timeout: float) -> socket.socket:
    return socket.create_connection((route.host, route.port), timeout)


def first_words(route: Route, timeout: float) -> bytes:
    """Ask for anything in plain HTTP, and give the first bytes that come back."""
    try:
        with connect(route, timeout) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % route.host.encode())
            return sock.recv(64)
    except OSError:
        return b""


def _verdict(alive: list[Attempt], dead: list[Attempt]) -> str:
    if any(not _lacks_v6(one) for one in dead):
        return "tcp.partly"
    return "tcp.v6_only" if all(one.is_v6 for one in alive) else "tcp.ok"


def _lacks_v6(attempt: Attempt) -> bool:
    """Tell a machine without IPv6 from a dead address: clients pass by at once."""
    return attempt.is_v6 and _errno(attempt) in _NO_WAY


def _attempt(address: str, port: int, timeout: float) -> Attempt:
    began = time.monotonic()
    fault = None
    try:
        socket.create_connection((address, port), timeout).close()
    except OSError as raised:
        fault = raised
    return Attempt(address, time.monotonic() - began, fault)


def _nothing(route: Route, dead: list[Attempt], timeout: float) -> Trouble:
    """Choose the most telling of several faults: a refusal says that one is there."""
    refused = next((one for one in dead if _errno(one) == ECONNREFUSED), None)
    worst = refused or dead[0]
    if route.proxy_url:
        return Trouble(
            "proxy.unreachable",
            proxy=route.proxy,
            variable=route.variable,
            reason=worst.reason,
        )
    facts: dict[str, Fact] = {
        "host": route.host,
        "port": route.port,
        "attempts": [_fact(one) for one in dead],
    }
    if refused:
        return Trouble("tcp.refused", **facts)
    if isinstance(worst.fault, TimeoutError):
        return Trouble("tcp.timeout", timeout=seconds(timeout), **facts)
    return Trouble("tcp.unreachable", reason=worst.reason, **facts)


def _errno(attempt: Attempt) -> int | None:
    return attempt.fault.errno if attempt.fault else None


def _fact(attempt: Attempt) -> Fact:
    return {
        "address": attempt.address,
        "milliseconds": round(attempt.seconds * 1000, 3),
        "result": attempt.reason,
    }
