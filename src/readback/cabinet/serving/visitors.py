"""Who sends a request: the network address behind our proxies, and the account.

Rate limits, the security log and e-mails all ask here for the address, so that a forged
header affects none of them.
"""

from django.conf import settings
from django.http import HttpRequest

from readback.cabinet.models import User
from readback.client_address import forwarded_address

# A unix socket has no address, and a proxy may send something that is not one.
UNKNOWN = "unknown"


class AccountRequest(HttpRequest):
    """A request after `login_required`."""

    user: User


def client_address(request: HttpRequest) -> str:
    """Return the address from which our outermost proxy received the request."""
    header = request.headers.get("x-forwarded-for", "")
    forwarded = forwarded_address(header, settings.CONFIG.trusted_proxy_count)
    if forwarded is None:
        forwarded = request.META.get("REMOTE_ADDR", "")
    return forwarded or UNKNOWN
