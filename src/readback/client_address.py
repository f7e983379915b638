"""The network address of a client behind the operator's own proxies.

Only this module interprets X-Forwarded-For: rate limits, the journal, the security log
and e-mails must agree on the client, whatever header the client has forged.
"""

import re
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from socket import AF_INET, inet_pton

UNKNOWN = ""
NETWORK_DIGEST_LENGTH = 16
# Longer than any address with its scope id, brackets and port.
_MAX_ENTRY_LENGTH = 100
# Some proxies write `ip:port`, `[ip]:port` or `[ip]`.
_WITH_PORT = re.compile(r"\[([^\[\]]+)\](?::[0-9]*)?|([^:\[\]]+):[0-9]*")


def forwarded_entry(header: str, trusted_proxies: int) -> str | None:
    """Return what the outermost trusted proxy wrote about its client.

    Each proxy appends the address of its client, so only the last entries can be
    trusted, one for each trusted proxy; the client may have written the others. Return
    None if there are fewer: the request has not passed through all proxies.
    """
    if not header or not trusted_proxies:
        return None
    # Split from the right, because a client may have written thousands of entries.
    entries = header.rsplit(",", trusted_proxies)
    if len(entries) < trusted_proxies:
        return None
    entry = entries[-trusted_proxies].strip()
    return entry if len(entry) <= _MAX_ENTRY_LENGTH else UNKNOWN


def address_in(entry: str) -> str:
    """Return the address in an X-Forwarded-For entry; UNKNOWN if it contains none."""
    if _is_ipv4(entry):
        return entry
    match = _WITH_PORT.fullmatch(entry)
    try:
        ip = _parse(match[1] or match[2] if match else entry)
    except ValueError:
        return UNKNOWN
    return str(ip).partition("%")[0]  # without its scope id


def shorten(address: str) -> str:
    """Return an address without the part that identifies a machine in its network."""
    if _is_ipv4(address):
        return address.rpartition(".")[0] + ".x"
    try:
        ip = _parse(address)
    except ValueError:
        return UNKNOWN
    if ip.version == 4:  # from an IPv4-mapped IPv6 address
        return str(ip).rpartition(".")[0] + ".x"
    return str(ip_network((int(ip), 48), strict=False).network_address)


@lru_cache(4096)
def network(address: str) -> str:
    """Return the network of an address; UNKNOWN if it is not an address.

    An IPv4 address is its own network. An IPv6 address belongs to its /64, in which
    devices change their addresses at will. Loopback addresses are one network.
    """
    try:
        ip = _parse(address.partition("%")[0])
    except ValueError:
        return UNKNOWN
    if ip.is_loopback:
        return "loopback"
    if ip.version == 4:
        return str(ip)
    return str(ip_network((int(ip), 64), strict=False))


def network_digest(address: str, key: bytes) -> bytes:
    """Return a keyed hash of the address's network; empty if it is not an address."""
    name = network(address)
    if not name:
        return b""
    return blake2b(name.encode(), key=key, digest_size=NETWORK_DIGEST_LENGTH).digest()


def _is_ipv4(text: str) -> bool:
    """Return whether this is an IPv4 address, ten times as fast as `_parse`.

    Speed matters, because every request may come from a different address.
    """
    try:
        return ":" not in text and inet_pton(AF_INET, text) is not None
    except (OSError, ValueError):
        return False


@lru_cache(4096)
def _parse(text: str) -> IPv4Address | IPv6Address:
    """Parse an address; an IPv4-mapped IPv6 address becomes IPv4."""
    ip = ip_address(text)
    return getattr(ip, "ipv4_mapped", None) or ip
