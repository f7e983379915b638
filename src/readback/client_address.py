"""The network address of a client, seen through the operator's own proxies. Pure.

The only reader of X-Forwarded-For, for both planes: rate limits, journal, security log
and mails must agree on who sent a request, and a forged header must not change it.
"""

import re
from ipaddress import ip_address, ip_network

UNKNOWN = ""
_PORT_FORMS = re.compile(r"\A\[?([^\[\]]+?)\]?(?::[0-9]{1,5})?\Z")


def forwarded_address(header: str, trusted_proxies: int) -> str | None:
    """Return the address that the outermost trusted proxy has received a request from.

    Each proxy appends the address that it was asked from, so only the last entries are
    ours, one for each trusted proxy; the client may have written the others. Return
    None if there are fewer: the request has not passed all proxies, and only the
    address of the connection is certain. Return UNKNOWN if the entry is no address.
    """
    entries = header.split(",") if header else []
    if not trusted_proxies or len(entries) < trusted_proxies:
        return None
    return _without_port(entries[-trusted_proxies].strip())


def shorten(address: str) -> str:
    """Return an address without the part that tells a machine from its neighbours."""
    try:
        ip = ip_address(address)
    except ValueError:
        return UNKNOWN
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if ip.version == 4:
        return str(ip).rpartition(".")[0] + ".x"
    return str(ip_network((int(ip), 48), strict=False).network_address)


def _without_port(entry: str) -> str:
    """Return the address in an entry: some proxies write `ip:port` or `[ip]:port`."""
    for text in (entry, *_PORT_FORMS.findall(entry)):
        try:
            ip = ip_address(text)
        except ValueError:
            continue
        return str(getattr(ip, "ipv4_mapped", None) or ip).partition("%")[0]
    return UNKNOWN
