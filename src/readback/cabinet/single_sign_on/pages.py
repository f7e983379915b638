"""The pages of a login with the provider: leave for it, and return.

Only a button starts it. The visitor chooses nothing but where to continue afterwards,
which is always a page of the cabinet.
"""

from typing import Any

from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.base.constants import AuthProcess
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from readback.cabinet.account_rules import offered_provider
from readback.cabinet.serving.visitors import personal_form
from readback.cabinet.single_sign_on import errors
from readback.cabinet.single_sign_on.services import AGAIN


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def start(request: HttpRequest) -> HttpResponse:
    """Send the visitor to the provider."""
    _require_provider()
    if request.method != "POST":
        return redirect("account_login")
    return _leave(request, AuthProcess.LOGIN)


@personal_form
def again(request: HttpRequest) -> HttpResponse:
    """Ask a person to log in with the provider again before a sensitive change."""
    _require_provider()
    if request.method != "POST":
        context = {"next": get_next_redirect_url(request)}
        return render(request, "single_sign_on/again.html", context)
    # The provider asks for the password, or whatever it uses, even in an open session.
    return _leave(request, AGAIN, {"prompt": "login", "max_age": "0"})


@require_safe
@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """Finish the login when the provider sends the visitor back."""
    _require_provider()
    from readback.cabinet.single_sign_on.openid_connect import finish_login

    response: HttpResponse = finish_login(request)
    return response


def _leave(
    request: HttpRequest, process: str, auth_params: dict[str, Any] | None = None
) -> HttpResponse:
    limited: HttpResponse | None = ratelimit.consume_or_429(request, action="login")
    if limited:
        return limited
    from readback.cabinet.single_sign_on.provider_documents import ProviderError

    provider = get_adapter().get_provider(request, settings.CONFIG.oidc_issuer)
    next_url = get_next_redirect_url(request)
    try:
        away = provider.redirect(
            request, process, next_url, auth_params=auth_params or {}
        )
    except ProviderError as error:
        return errors.failed(request, str(error))
    # Not a redirect: `form-action 'self'` of our Content-Security-Policy forbids a form
    # whose answer leads to another site, and the provider may lead to yet others.
    return render(request, "single_sign_on/leave.html", {"url": away.url})


def _require_provider() -> None:
    if offered_provider() is None:
        raise Http404
