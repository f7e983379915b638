"""Who asks: the network address of a request's sender, past our own proxies.

The only place of the cabinet that reads X-Forwarded-For: rate limits, the security
log and mails all ask here, so that a made-up header fools none of them.
"""

import ipaddress
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

# A unix socket has no address, and a proxy may write something that is none.
UNKNOWN = "unknown"


def address(request: HttpRequest) -> str:
    """Give the address that the outermost of our own proxies saw."""
    proxies: int = settings.CONFIG.trusted_proxy_count
    # Each proxy appends the address it was asked from, so the last entries are
    # written by us; what stands before them is whatever the client claims.
    forwarded = request.headers.get("x-forwarded-for", "")
    chain = [*forwarded.split(","), request.META.get("REMOTE_ADDR", "")]
    return _cleaned(chain[max(-1 - proxies, -len(chain))])


def _cleaned(text: str) -> str:
    """Drop a port, which some proxies write, and all that is not an address."""
    text = text.strip()
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        pass
    try:
        return str(ipaddress.ip_address(urlsplit(f"//{text}").hostname or ""))
    except ValueError:
        return UNKNOWN
