"""A login with the provider: leave for it, return, what it may do, and if it fails.

Only a button starts it. The visitor chooses nothing but where to continue afterwards,
which is always a page of the cabinet. How the provider is asked is in
`openid_connect.py`, and `services.py` decides which account is a person's.
"""

import logging
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError, AuthProcess
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from readback.cabinet.account_rules import provider_name
from readback.cabinet.accounts import selectors
from readback.cabinet.accounts.forms import NormalisedEmailField
from readback.cabinet.serving import security_log
from readback.cabinet.serving.allauth_internals import (
    record_authentication,
    resume_request,
)
from readback.cabinet.serving.visitors import personal_form
from readback.cabinet.single_sign_on.services import (
    AGAIN,
    Identity,
    LoginRefusal,
    LoginRefusedError,
    account_of_person,
)

_log = logging.getLogger("readback.cabinet.single_sign_on")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def start(request: HttpRequest) -> HttpResponse:
    _require_provider()
    if request.method != "POST":
        return redirect("account_login")
    return _leave(request, AuthProcess.LOGIN, {})


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
def callback(request: HttpRequest) -> Any:
    _require_provider()
    from readback.cabinet.single_sign_on.openid_connect import finish_login
    from readback.cabinet.single_sign_on.provider_documents import ProviderError

    try:
        return finish_login(request)
    except ProviderError as error:
        return _failed(request, str(error))


def _leave(
    request: HttpRequest, process: str, auth_params: dict[str, str]
) -> HttpResponse:
    limited: HttpResponse | None = ratelimit.consume_or_429(request, action="login")
    if limited:
        return limited
    from readback.cabinet.single_sign_on.provider_documents import ProviderError

    provider = get_adapter().get_provider(request, settings.CONFIG.oidc_issuer)
    next_url = get_next_redirect_url(request)
    try:
        away = provider.redirect(request, process, next_url, auth_params=auth_params)
    except ProviderError as error:
        return _failed(request, str(error))
    # Not a redirect: `form-action 'self'` of our Content-Security-Policy forbids a form
    # whose answer leads to another site, and the provider may lead to yet others.
    return render(request, "single_sign_on/leave.html", {"url": away.url})


def _failed(request: HttpRequest, reason: str) -> HttpResponse:
    """Log the reason for the operator, and show that the provider failed."""
    _log.warning("A login with the OpenID Connect provider failed: %s", reason)
    status = HTTPStatus.BAD_GATEWAY
    return render(request, "single_sign_on/failed.html", status=status)


def _require_provider() -> None:
    if not provider_name():
        raise Http404


class CabinetSocialAdapter(DefaultSocialAccountAdapter):
    def get_provider(
        self, request: HttpRequest, provider: str, client_id: str | None = None
    ) -> Any:
        from readback.cabinet.single_sign_on.openid_connect import CabinetProvider

        return CabinetProvider(request, app=self.get_app(request, provider, client_id))

    def get_requests_session(self) -> Any:
        from readback.cabinet.single_sign_on.provider_documents import BoundedSession

        return BoundedSession()

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Find or create the account; refuse the login by an immediate response."""
        try:
            self._admit(request, sociallogin)
        except LoginRefusedError as refused:
            account = refused.account.pk if refused.account else None
            security_log.record(refused.refusal, account=account)
            template = refused.refusal.replace("provider_", "single_sign_on/")
            status = HTTPStatus.FORBIDDEN
            page = render(request, f"{template}.html", status=status)
            raise ImmediateHttpResponse(page) from None

    def _admit(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        account = sociallogin.account
        if sociallogin.state.get("process") == AGAIN:
            # Continue where the person was, if it is the person who is logged in.
            if not sociallogin.is_existing or sociallogin.user != request.user:
                raise LoginRefusedError(LoginRefusal.OTHER_PERSON)
            record_authentication(
                request,
                request.user,
                selectors.BY_PROVIDER,
                reauthenticated=True,
                uid=account.uid,
            )
            # It resumes a form that was sent before the question, if it was its own.
            next_url = sociallogin.state.get("next") or ""
            request.GET = QueryDict(urlencode({"next": next_url}))
            raise ImmediateHttpResponse(resume_request(request) or redirect("keys"))
        if not sociallogin.is_existing:
            email = _verified_address(sociallogin)
            person = Identity(account.provider, account.uid, email)
            sociallogin.account = account_of_person(person)
            sociallogin.user = sociallogin.account.user
        if not sociallogin.user.is_active:  # type: ignore[union-attr]
            raise LoginRefusedError(LoginRefusal.INACTIVE, sociallogin.user)  # type: ignore[arg-type]

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: str | None = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        """Show our pages; allauth's would show or keep what the provider sent."""
        if error == AuthError.CANCELLED:
            messages.info(request, _("You cancelled the login. Nothing was changed."))
            raise ImmediateHttpResponse(redirect("account_login"))
        # This browser is not waiting for the answer, or no longer.
        if exception is None and "state_id" in (extra_context or {}):
            message = _(
                "This login took too long, was already used, or began in another "
                "browser. Log in again."
            )
            messages.error(request, message)
            raise ImmediateHttpResponse(redirect("account_login"))
        reason = str(exception or "it answered with an error")
        raise ImmediateHttpResponse(_failed(request, reason))


def _verified_address(sociallogin: SocialLogin) -> str:
    """Return the address that the provider has verified, in the form that we store."""
    for address in sociallogin.email_addresses:
        if address.verified:
            try:
                return NormalisedEmailField().clean(address.email)
            except ValidationError:
                break
    raise LoginRefusedError(LoginRefusal.UNVERIFIED)
