"""Who may open a page: the owner of a key, and operators with their second factor."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from readback.cabinet.models import Key, User
from readback.cabinet.second_factor import passkeys, selectors

# The session's key for the page that a new second factor leads back to.
AFTER_SECOND_FACTOR = "after_second_factor"


class AccountRequest(HttpRequest):
    """A request after `login_required`."""

    user: User


def owned_key(request: AccountRequest, key_id: int) -> Key:
    """Return a key of the user; raise 404 for a key that belongs to another account."""
    return get_object_or_404(Key, pk=key_id, owner=request.user)


def lacks_second_factor(request: HttpRequest) -> bool:
    """Return whether an operator's session needs a second factor and has used none."""
    if not settings.CONFIG.operator_second_factor:
        return False
    return not selectors.used_second_factor(request)


def ask_for_second_factor(request: HttpRequest, path: str) -> HttpResponse:
    """Redirect to where the operator adds or uses a second factor, and then to a path.

    A factor that was added after the login does not count until this session uses it.
    """
    factors = selectors.second_factors_of(request.user)
    if not factors.is_on:
        messages.warning(
            request, _("Operators need a second factor here. Add one to continue.")
        )
        request.session[AFTER_SECOND_FACTOR] = path
        return redirect("second_factor")
    messages.warning(request, _("Operators need their second factor here."))
    by_code = factors.app is not None or not passkeys.is_available(request)
    page = reverse("mfa_reauthenticate" if by_code else "mfa_reauthenticate_webauthn")
    return redirect(f"{page}?{urlencode({'next': path})}")
