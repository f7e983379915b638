"""Resolves a host and connects to it within a time limit; describes the route.

The step "TCP" tries all addresses of a host at once; later steps use those that accept
connections. On an open connection, a `DeadlineSocket` gives up at a fixed time, however
slowly bytes arrive: an ordinary socket's timeout restarts with every byte.
"""

from __future__ import annotations

import base64
import errno
import io
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from readback.probe.common.background import BackgroundCall
from readback.probe.common.catalogue import say
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Fact
from readback.probe.entered.base_url import BaseUrl

_LEAST_SECONDS = 0.1
# How long to wait for the other addresses after the first success: a lost packet is
# sent again after one second (RFC 6298 §2).
_GRACE_SECONDS = 2.0
# Any address on the Internet; connecting a UDP socket to it sends no packet.
_ELSEWHERE = ("2000::1", 9)
_NO_ROUTE = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENETUNREACH}
_FULL = (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL)
_FORBIDDEN = (errno.EACCES, errno.EPERM, getattr(errno, "WSAEACCES", errno.EACCES))
LOCAL_ERRORS = {*_FULL, *_FORBIDDEN}
"""The errors for which this machine itself is responsible."""


@dataclass(frozen=True)
class ConnectAttempt:
    address: str
    seconds: float
    error: OSError | None = None

    @property
    def is_v6(self) -> bool:
        return ":" in self.address

    @property
    def is_timeout(self) -> bool:
        return isinstance(self.error, (socket.timeout, TimeoutError))

    @property
    def errno(self) -> int | None:
        return self.error.errno if self.error else None

    @property
    def lacks_family(self) -> bool:
        """Whether this machine cannot use the address's family (IPv4 or IPv6)."""
        # Clients then skip the address.
        unreachable = _NO_ROUTE if self.is_v6 else (errno.ENETUNREACH,)
        return self.errno in unreachable

    @property
    def reason(self) -> str:
        if self.is_timeout:
            return say("no_response")
        return sanitize(getattr(self.error, "strerror", "") or str(self.error)).lower()


def has_ipv6() -> bool:
    """Return whether this machine has a route for IPv6; nothing is sent."""
    with suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.connect(_ELSEWHERE)
        return True
    return False


def connect(addresses: Sequence[str], port: int, timeout: float) -> socket.socket:
    deadline = time.monotonic() + timeout
    errors: list[OSError] = []
    for number, address in enumerate(addresses):
        # An address that does not respond must leave enough time for the others.
        share = (deadline - time.monotonic()) / (len(addresses) - number)
        try:
            sock = socket.create_connection((address, port), max(share, _LEAST_SECONDS))
        except OSError as error:
            errors.append(error)
            continue
        sock.settimeout(timeout)
        # http.client sends the body separately; it must not wait for an ACK first.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    raise errors[0] if errors else socket.timeout("timed out")


def try_all(
    addresses: Sequence[str], port: int, timeout: float
) -> list[ConnectAttempt]:
    """Try all addresses at once; after a success, wait only briefly for the others."""
    calls = [
        BackgroundCall(partial(_attempt, address, port, timeout))
        for address in addresses
    ]
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        waiting = [call for call in calls if not call.is_done]
        if not waiting:
            break
        waiting[0].wait(_LEAST_SECONDS)
        if any(call.is_done and not call.result().error for call in calls):
            deadline = min(deadline, time.monotonic() + _GRACE_SECONDS)
    late = socket.timeout("timed out")
    return [
        call.result() if call.is_done else ConnectAttempt(address, timeout, late)
        for address, call in zip(addresses, calls)  # noqa: B905
    ]


def _attempt(address: str, port: int, timeout: float) -> ConnectAttempt:
    started = time.monotonic()
    try:
        socket.create_connection((address, port), timeout).close()
    except OSError as error:
        return ConnectAttempt(address, time.monotonic() - started, error)
    return ConnectAttempt(address, time.monotonic() - started)


def resolve_within(host: str, port: int, timeout: float) -> list[str]:
    """Return the IP addresses of a host; raise `OSError` if none is found in time."""

    def resolve() -> list[str]:
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except ValueError:  # The name cannot be encoded as a DNS name.
            raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None
        return list(dict.fromkeys(str(row[4][0]) for row in rows))

    return BackgroundCall(resolve).result(timeout)


class DeadlineSocket(io.RawIOBase):
    """The socket methods that HTTP and the proxy protocols need, with a deadline."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._socket = sock
        self._deadline = deadline
        self.received_at = time.monotonic()

    def sendall(self, data: bytes) -> None:
        self._limit()
        self._socket.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def recv_exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not (part := self.read(size - len(data))):
                raise ConnectionResetError
            data += part
        return data

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._limit()
        size = self._socket.recv_into(buffer)
        self.received_at = time.monotonic()
        return size

    def close(self) -> None:
        """Leave the socket open: the client decides whether to use it again."""

    def _limit(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        self._socket.settimeout(left)


@dataclass(frozen=True)
class Proxy:
    """A proxy and the environment variable that sets it."""

    scheme: str
    host: str
    port: int
    variable: str
    login: tuple[str, str] | None = field(default=None, repr=False)
    """The user name and password, sent only to the proxy itself."""
    trusted: ssl.SSLContext | None = field(default=None, repr=False)
    """The certificates for verifying a proxy that is itself reached over TLS."""

    def __str__(self) -> str:
        """The proxy without its login, safe to show."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks")

    def facts(self, target: BaseUrl) -> dict[str, Fact]:
        return {
            "host": target.host,
            "port": target.port,
            "proxy": str(self),
            "variable": self.variable,
        }

    @property
    def authorization(self) -> dict[str, str]:
        if self.login is None:
            return {}
        login = ":".join(self.login).encode("utf-8", "surrogateescape")
        return {"Proxy-Authorization": f"Basic {base64.b64encode(login).decode()}"}


@dataclass(frozen=True)
class Route:
    target: BaseUrl
    proxy: Proxy | None = None
    addresses: tuple[str, ...] = ()
    """The IP addresses of the machine to connect to, the best first, once known."""

    @property
    def host(self) -> str:
        """The host to connect to: the proxy if there is one, else the service."""
        return self.proxy.host if self.proxy else self.target.host

    @property
    def port(self) -> int:
        return self.proxy.port if self.proxy else self.target.port

    @property
    def key_destination(self) -> str:
        """The hosts that can read a key sent on this route; safe to show."""
        origin = self.target.origin
        if not self.forwarder:
            return origin
        return say("through_proxy", origin=origin, proxy=self.proxy)

    @property
    def forwarder(self) -> Proxy | None:
        """The proxy that forwards each request; requests to it contain the full URL."""
        return None if self.uses_tunnel else self.proxy

    @property
    def uses_tunnel(self) -> bool:
        """Whether the proxy tunnels the connection instead of forwarding requests."""
        if self.proxy is None:
            return False
        return self.proxy.is_socks or self.target.is_encrypted
