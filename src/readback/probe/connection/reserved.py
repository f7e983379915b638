"""Names and addresses with a reserved meaning: private, faked, this machine itself."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Union

_Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


def _networks(*texts: str) -> tuple[_Network, ...]:
    return tuple(map(ipaddress.ip_network, texts))


# The ranges that the documentation of Clash, Surge, Xray and sing-box names.
_FAKE = _networks("198.18.0.0/15", "fc00::/18")
# RFC 1918, 4193 and 6598 (which Tailscale uses, too), and link-local addresses.
_PRIVATE = _networks(
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "fc00::/7",
    "fe80::/10",
)
# RFC 6761, 6762, 8375, ICANN's choice of .internal, and the habits of companies.
_PRIVATE_SUFFIXES = (
    ".cluster.local",
    ".corp",
    ".home",
    ".home.arpa",
    ".internal",
    ".intra",
    ".intranet",
    ".lan",
    ".localdomain",
    ".localhost",
    ".private",
    ".svc",
    ".test",
)


def private_name(host: str) -> str:
    """Return how one sees that a name exists only in a private network, or ""."""
    name = host.rstrip(".").lower()
    if "." not in name:
        return "without a dot"
    suffix = next((one for one in _PRIVATE_SUFFIXES if name.endswith(one)), "")
    return f"that end in {suffix}" if suffix else ""


def is_mdns_name(host: str) -> bool:
    name = host.rstrip(".").lower()
    return name.endswith(".local") and not private_name(host)


def is_public_name(host: str) -> bool:
    return not private_name(host) and not is_mdns_name(host)


def are_faked(addresses: Sequence[str]) -> bool:
    """Return whether a VPN or proxy program has invented all of these addresses."""
    return all(_is_in(one, _FAKE) for one in addresses)


def are_this_machine(addresses: Sequence[str]) -> bool:
    return all(_ip(one).is_loopback or _ip(one).is_unspecified for one in addresses)


def are_private(addresses: Sequence[str]) -> bool:
    return all(_is_in(one, _PRIVATE) for one in addresses)


def _is_in(address: str, networks: Sequence[_Network]) -> bool:
    return any(_ip(address) in network for network in networks)


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(address.partition("%")[0])
