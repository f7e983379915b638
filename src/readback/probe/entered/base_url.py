"""A base URL in its parts, and what can be said about its host."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from readback.probe.common.formatting import sanitize
from readback.probe.common.results import ProbeError

PORTS = {"http": 80, "https": 443}
_LOCAL_SUFFIXES = (".local", ".localhost", ".internal", ".test", ".svc", ".lan")
_SHOWN_SCHEME_LENGTH = 10


@dataclass(frozen=True)
class BaseUrl:
    """The parts of a base URL, without anything secret."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def is_encrypted(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return f"{self.origin}{self.path}"


def split(url: str) -> SplitResult:
    """Split an http or https URL; raise `ProbeError` if it is not one."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError:
        raise ProbeError("address.host") from None
    if parts.scheme not in PORTS:
        raise ProbeError("address.scheme", scheme=shown_scheme(parts.scheme))
    if not parts.hostname or parts.port == 0:
        raise ProbeError("address.host")
    return parts


def is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_local(host: str) -> bool:
    """Return whether the host is on this machine or in a private network."""
    if is_ip_address(host):
        return ipaddress.ip_address(host).is_private
    return "." not in host or host.endswith(_LOCAL_SUFFIXES)


def shown_scheme(scheme: str) -> str:
    """Return a scheme as it may be shown; a longer word could be a secret."""
    is_short = 0 < len(scheme) <= _SHOWN_SCHEME_LENGTH
    return sanitize(scheme) if is_short else "unknown"
