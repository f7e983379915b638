"""Single sign-on: log in with an OpenID Connect provider of the operator's choice.

A login begins with a button and ends at `callback`, to which the provider redirects. A
person is identified by the issuer and the issuer's id for them. The address matters
only at the first login, when it decides which account is theirs. `openid_connect.py`
sends the requests to the provider.
"""

import logging
from http import HTTPStatus
from typing import Any

from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError, AuthProcess
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from readback.cabinet.account_rules import may_sign_up, provider_name
from readback.cabinet.accounts import selectors, services, sessions
from readback.cabinet.accounts.forms import NormalisedEmailField
from readback.cabinet.accounts.provider_documents import (
    TIMEOUT_SECONDS,
    ProviderBusyError,
    ProviderError,
)
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.mail import notices
from readback.cabinet.models import User
from readback.cabinet.serving import security_log

_log = logging.getLogger("readback.cabinet.single_sign_on")


@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest) -> Any:
    _require_provider()
    if request.method != "POST":
        return redirect("account_login")
    if limited := ratelimit.consume_or_429(request, action="login"):
        return limited
    provider = get_adapter().get_provider(request, settings.CONFIG.oidc_issuer)
    next_url = get_next_redirect_url(request)
    try:
        away = provider.redirect(request, AuthProcess.LOGIN, next_url)
    except ProviderError as error:
        return _failed(request, error)
    # Not a redirect: with `form-action 'self'` in our Content-Security-Policy, a form
    # cannot redirect to another site.
    return render(request, "accounts/provider_leave.html", {"url": away.url})


@require_safe
def callback(request: HttpRequest) -> Any:
    _require_provider()
    from readback.cabinet.accounts.openid_connect import finish_login

    try:
        return finish_login(request)
    except ProviderError as error:
        return _failed(request, error)


def _failed(request: HttpRequest, error: ProviderError) -> HttpResponse:
    """Log the reason, and show that the provider failed.

    Nothing is logged if too many requests wait: otherwise, anyone could fill the log.
    """
    is_busy = isinstance(error, ProviderBusyError)
    page = render(request, "accounts/provider_failed.html", {"is_busy": is_busy})
    page.status_code = HTTPStatus.BAD_GATEWAY
    if is_busy:
        page["Retry-After"] = f"{TIMEOUT_SECONDS:.0f}"
    else:
        _log.warning("A login with the OpenID Connect provider failed: %s", error)
    return page


def _require_provider() -> None:
    if not provider_name():
        raise Http404


class CabinetSocialAdapter(DefaultSocialAccountAdapter):
    def get_provider(
        self, request: HttpRequest, provider: str, client_id: str | None = None
    ) -> Any:
        from readback.cabinet.accounts.openid_connect import CabinetProvider

        return CabinetProvider(request, app=self.get_app(request, provider, client_id))

    def get_requests_session(self) -> Any:
        from readback.cabinet.accounts.openid_connect import ProviderSession

        return ProviderSession()

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Find or create the account, or answer at once that the login is refused."""
        try:
            self._admit(request, sociallogin)
        except LoginRefusedError as refused:
            account = refused.account.pk if refused.account else None
            security_log.record(f"provider_refused_{refused.reason}", account=account)
            template = "accounts/provider_refused.html"
            page = render(request, template, {"refusal": refused.reason}, status=403)
            raise ImmediateHttpResponse(page) from None

    def _admit(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        if not sociallogin.is_existing:
            email = _verified_address(sociallogin)
            uid = sociallogin.account.uid
            sociallogin.account = connect_person(uid, email)
            sociallogin.user = sociallogin.account.user
        if not sociallogin.user.is_active:  # type: ignore[union-attr]
            raise LoginRefusedError("inactive", sociallogin.user)  # type: ignore[arg-type]

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: str | None = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        """Show our pages: allauth's would show or store what the provider sent."""
        if error == AuthError.CANCELLED:
            messages.info(request, _("You cancelled the login. Nothing was changed."))
            raise ImmediateHttpResponse(redirect("account_login"))
        # This browser is not (or no longer) waiting for the answer.
        if exception is None and "state_id" in (extra_context or {}):
            message = _(
                "This login took too long, was already used, or began in another "
                "browser. Log in again."
            )
            messages.error(request, message)
            raise ImmediateHttpResponse(redirect("account_login"))
        from readback.cabinet.accounts.openid_connect import reason

        told = reason(exception) if exception else "it answered with an error"
        raise ImmediateHttpResponse(_failed(request, ProviderError(told)))


def _verified_address(sociallogin: SocialLogin) -> str:
    """Return the address that the provider has verified, in the form that we store."""
    for address in sociallogin.email_addresses:
        if address.verified:
            try:
                return NormalisedEmailField().clean(address.email)
            except ValidationError:
                break
    raise LoginRefusedError("unverified")


class LoginRefusedError(Exception):
    """The provider has identified a person who may not log in here.

    The reason is `unverified`, `closed`, `unconfirmed`, `inactive` or `connected`, as
    docs/monitoring.md explains.
    """

    def __init__(self, reason: str, account: User | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.account = account


@transaction.atomic
def connect_person(uid: str, email: str) -> SocialAccount:
    """Connect a person to the account with their address, or create one.

    The provider has verified the address. Raise `LoginRefusedError` if the account
    cannot be theirs, or must not be created.
    """
    account = User.objects.select_for_update().filter(email=email).first()
    if account is None:
        return _create(uid, email)
    if not account.is_active:
        raise LoginRefusedError("inactive", account)
    if selectors.account_is_connected(account):
        # Companies reassign the addresses of people who have left.
        raise LoginRefusedError("connected", account)
    if selectors.account_is_confirmed(account):
        name = settings.CONFIG.oidc_name
        notices.notify("provider_connected", account, provider=name)
        return _connect(uid, account)
    # Anyone may have signed up with this address, and may know the password. Such an
    # account is replaced, as by a second sign-up; an account in use never is.
    if may_sign_up(email) and services.account_discard_unused(email):
        return _create(uid, email)
    raise LoginRefusedError("unconfirmed", account)


def _create(uid: str, email: str) -> SocialAccount:
    if not may_sign_up(email):
        raise LoginRefusedError("closed")
    language = translation.get_language() or ""
    account = services.account_create(email, confirmed=True, language=language)
    notices.record("account_created", account=account.pk)
    return _connect(uid, account)


def _connect(uid: str, account: User) -> SocialAccount:
    """Connect a person to an account; only the provider's id for them is stored."""
    return SocialAccount.objects.create(
        user=account, provider=settings.CONFIG.oidc_issuer, uid=uid, extra_data={}
    )


@transaction.atomic
def account_disconnect(account: User) -> None:
    """Let the next person with the account's address connect; end all sessions."""
    rows = SocialAccount.objects.filter(user=account)
    if not rows.delete()[0]:
        raise ServiceError(_("This account is not connected with single sign-on."))
    sessions.sessions_end(account)
    name = settings.CONFIG.oidc_name
    notices.notify("provider_disconnected", account, provider=name)


def no_passwords(request: HttpRequest) -> HttpResponse:
    """Return the page that refuses other logins if single sign-on is the only way."""
    return render(request, "accounts/no_passwords.html", status=HTTPStatus.FORBIDDEN)
