"""What a login with the provider may do, as allauth's adapter.

`services.py` decides which account is a person's. How the provider is
asked is in `openid_connect.py`, which is imported only when somebody uses it.
"""

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from readback.cabinet.accounts import reauthentication
from readback.cabinet.accounts.forms import NormalisedEmailField
from readback.cabinet.serving import security_log
from readback.cabinet.single_sign_on import errors as pages
from readback.cabinet.single_sign_on.services import (
    AGAIN,
    Identity,
    LoginRefusal,
    LoginRefusedError,
    account_of_person,
)


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
            page = pages.refused(request, refused.refusal)
            raise ImmediateHttpResponse(page) from None

    def _admit(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        account = sociallogin.account
        if sociallogin.state.get("process") == AGAIN:
            # Continue where the person was, if it is the person who is logged in.
            if not sociallogin.is_existing or sociallogin.user != request.user:
                raise LoginRefusedError(LoginRefusal.OTHER_PERSON)
            next_url = sociallogin.state.get("next")
            page = reauthentication.accept(request, account.uid, next_url)
            raise ImmediateHttpResponse(page)
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
            raise ImmediateHttpResponse(pages.cancelled(request))
        if exception is None and "state_id" in (extra_context or {}):
            raise ImmediateHttpResponse(pages.started_elsewhere(request))
        reason = str(exception or "it answered with an error")
        raise ImmediateHttpResponse(pages.failed(request, reason))


def _verified_address(sociallogin: SocialLogin) -> str:
    """Return the address that the provider has verified, in the form that we store."""
    for address in sociallogin.email_addresses:
        if address.verified:
            try:
                return NormalisedEmailField().clean(address.email)
            except ValidationError:
                break
    raise LoginRefusedError(LoginRefusal.UNVERIFIED)
