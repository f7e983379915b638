"""The proxy that a program would use, and how it reads the address of a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from readback.probe.common.formatting import sanitize

HTTP = {"http": "", "https": ""}
_PORTS = {"http": 80, "https": 443}
_SOCKS_PORT = 1080


class ProxyChoice(NamedTuple):
    """What a program would do; without a server it connects directly."""

    server: str = ""
    """Host and port, without a login."""
    variable: str = ""
    problem: str = ""
    """Why the program fails with this setting."""
    note: str = ""
    """What the program needs in addition."""

    @property
    def way(self) -> str:
        if self.problem:
            return f"fails: {self.problem}"
        return f"through {self.server}" if self.server else "directly"

    @property
    def description(self) -> str:
        origin = f", from {self.variable}" if self.variable and self.server else ""
        note = f", {self.note}" if self.note else ""
        return f"{self.way}{origin}{note}"


DIRECT = ProxyChoice()


def through(
    value: str,
    variable: str,
    kinds: Mapping[str, str],
    *,
    default_port: int | None = None,
) -> ProxyChoice:
    """Return the choice of a program that supports these kinds of proxy.

    `kinds` has the additional package, if any, for each scheme.
    """
    if value != value.strip():
        return ProxyChoice("", variable, f"{variable} contains spaces")
    scheme, separator, rest = value.partition("://")
    if not separator:
        scheme, rest = "http", value
    server = _server(scheme.lower(), rest, default_port)
    if server is None:
        return ProxyChoice("", variable, f"{variable} is not the address of a proxy")
    if scheme.lower() not in kinds:
        kind = sanitize(scheme) or "such"
        return ProxyChoice(server, variable, f"no support for {kind} proxies")
    package = kinds[scheme.lower()]
    return ProxyChoice(
        server, variable, note=f"with the package {package}" if package else ""
    )


def _server(scheme: str, rest: str, default_port: int | None) -> str | None:
    """Return host and port without a login, or None if there is no host."""
    # A password may contain characters that end the host in a URL.
    authority = rest.rpartition("@")[2]
    try:
        parts = urlsplit(f"//{authority}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    port = port or default_port or _PORTS.get(scheme, _SOCKS_PORT)
    return sanitize(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
