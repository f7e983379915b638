"""Who sent a request: the client's address, as our proxies report it, and the account.

Rate limits, the security log and e-mails all get the address from here, so a forged
header affects none of them.
"""

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_safe

from readback.cabinet.models import User
from readback.client_address import address_in, forwarded_entry, network

# For clients of a unix socket, and if a proxy sends something other than an address.
UNKNOWN = "unknown"

View = Callable[..., HttpResponse]


class AccountRequest(HttpRequest):
    """A request that has passed `login_required`."""

    user: User


def personal_page(view: View) -> View:
    return require_safe(login_required(view))


def personal_form(view: View) -> View:
    """Like `personal_page`, but allow POST, too, for the form on the page."""
    return require_http_methods(["GET", "HEAD", "POST"])(login_required(view))


def client_address(request: HttpRequest) -> str:
    """Return the address from which our outermost proxy received the request."""
    header = request.headers.get("x-forwarded-for", "")
    entry = forwarded_entry(header, settings.CONFIG.trusted_proxy_count)
    if entry is None:
        return request.META.get("REMOTE_ADDR") or UNKNOWN
    return address_in(entry) or UNKNOWN


def network_of(request: HttpRequest) -> str:
    """Return what rate limits count by: an IPv4 address, or the /64 of an IPv6 one."""
    return network(client_address(request)) or UNKNOWN
