"""The network address of the client, behind any proxies of ours.

This is the only place in the cabinet that reads X-Forwarded-For. Rate limits, the
security log and e-mails all use it, so a forged header affects none of them.
"""

import ipaddress
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

# A Unix socket has no address, and a proxy may send something that is not one.
UNKNOWN = "unknown"


def address(request: HttpRequest) -> str:
    """Return the address from which our outermost proxy received the request."""
    proxies: int = settings.CONFIG.trusted_proxy_count
    # Each proxy appends the address of its own client, so our proxies wrote the last
    # entries. The entries before them are whatever the client claims.
    forwarded = request.headers.get("x-forwarded-for", "")
    chain = [*forwarded.split(","), request.META.get("REMOTE_ADDR", "")]
    return _cleaned(chain[max(-1 - proxies, -len(chain))])


def _cleaned(text: str) -> str:
    """Return the address without a port, or UNKNOWN if the text is not an address."""
    text = text.strip()
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        pass
    try:
        return str(ipaddress.ip_address(urlsplit(f"//{text}").hostname or ""))
    except ValueError:
        return UNKNOWN
