"""Our changes to allauth's defaults: client addresses, limits, sessions and e-mails.

The rules for form fields are in `account_forms.py`; what e-mails say and link to is in
`mail_rendering.py`.
"""

from datetime import timedelta
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as allauth_context
from allauth.core import ratelimit
from allauth.core.exceptions import ImmediateHttpResponse, ReauthenticationRequired
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone, translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _

from readback.cabinet import (
    clients,
    mail_limits,
    mail_rendering,
    outbox,
    security_log,
    selectors,
    services,
)
from readback.cabinet.middleware import SESSION_STARTED, no_passwords
from readback.cabinet.reauthentication import (
    needs_provider_again,
    reauthentication_methods,
    used_provider,
)
from readback.cabinet.single_sign_on import is_only_way
from readback.cabinet.views import errors

# For how long a mail is worth sending: for as long as a link made at once would work.
_CONFIRMATION = timedelta(days=settings.ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS)
_RESET = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
_NOTICE = timedelta(days=3)


class CabinetAdapter(DefaultAccountAdapter):
    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": _("The e-mail address or password is incorrect."),
        "enter_current_password": _("The current password is incorrect."),
        "incorrect_password": _("The password is incorrect."),
        "duplicate_email": _("This is already your address."),
    }

    # Requests

    def get_client_ip(self, request: HttpRequest) -> str:
        return clients.address(request)

    def is_ajax(self, request: HttpRequest) -> bool:
        """Return False: always answer with a page, whatever the headers ask for."""
        return False

    def is_safe_url(self, url: str | None) -> bool:
        """Return whether the URL is a path within the cabinet."""
        return bool(url) and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    # Accounts and sessions

    def save_user(
        self,
        request: HttpRequest,
        user: AbstractBaseUser,
        form: Any,
        commit: bool = True,
    ) -> AbstractBaseUser:
        """Save the account with the language of the sign-up page, for its e-mails."""
        super().save_user(request, user, form, commit=False)
        user.language = translation.get_language()  # type: ignore[attr-defined]
        user.password = form.password_hash
        user.save()
        return user

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            security_log.record("login_limited", account=None)
            raise ImmediateHttpResponse(ratelimit.respond_429(request)) from None

    def authenticate(
        self, request: HttpRequest, **credentials: Any
    ) -> AbstractBaseUser | None:
        """Authenticate by the account's own address, not by one still unconfirmed."""
        user = super().authenticate(request, **credentials)
        is_own_address = user and user.get_username() == credentials.get("email")
        return user if is_own_address else None

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        """Start a session, and delete some of the expired ones."""
        if is_only_way() and not used_provider(request, user):
            raise ImmediateHttpResponse(no_passwords(request))
        super().login(request, user)
        services.session_delete_expired()

    def _get_login_attempts_cache_key(
        self, request: HttpRequest, **credentials: Any
    ) -> str:
        # allauth prepends the Host header, so another port would start a new count.
        return str(credentials.get("email", "")).lower()

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Require the password unless the login, by any method, is recent."""
        request = self.request or allauth_context.request
        age = timezone.now().timestamp() - request.session.get(SESSION_STARTED, 0)
        is_required = bool(age > app_settings.REAUTHENTICATION_TIMEOUT)
        if is_required and needs_provider_again(request):
            # allauth itself asks only people who have a password or a second factor.
            raise ReauthenticationRequired
        return is_required

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Offer the provider, too; if it is the only way, no password."""
        methods = super().get_reauthentication_methods(user)
        return reauthentication_methods(user, methods)

    # E-mails: they are put into the outbox, so that no page waits for the mail server

    def send_confirmation_mail(
        self, request: HttpRequest, emailconfirmation: Any, signup: bool
    ) -> None:
        address = emailconfirmation.email_address
        template = (
            mail_rendering.SIGN_UP_CONFIRMATION
            if signup
            else mail_rendering.CONFIRMATION
        )
        self._add_to_outbox(template, address.email, _CONFIRMATION, address.user)

    def send_password_reset_mail(
        self, user: AbstractBaseUser, email: str, context: dict[str, Any]
    ) -> None:
        """Queue the mail without the link in the context: it is a secret."""
        security_log.record("password_reset_requested", account=user.pk)
        self._add_to_outbox(mail_rendering.PASSWORD_RESET, email, _RESET, user)

    def send_mail(
        self, template_prefix: str, email: str, context: dict[str, Any]
    ) -> None:
        """Queue a mail without a secret: the address has an account, or has none."""
        self._add_to_outbox(template_prefix, email, _CONFIRMATION)

    def send_notification_mail(
        self,
        template_prefix: str,
        user: AbstractBaseUser,
        context: dict[str, str] | None = None,
        email: str | None = None,
    ) -> None:
        """Notify the owner, unless there have been very many notices."""
        request, to = allauth_context.request, email or user.get_username()
        if not mail_limits.allow_notice(request, to):
            security_log.record("mail_limited", account=user.pk)
            return
        ip = clients.address(request) if request else ""
        outbox.add(
            template_prefix,
            to,
            _NOTICE,
            details={"ip": ip, **(context or {})},
            language=user.language,  # type: ignore[attr-defined]
        )

    def _add_to_outbox(
        self,
        template: str,
        email: str,
        lifetime: timedelta,
        account: Any = None,
    ) -> None:
        """Add a mail that a visitor asked for, unless there were too many."""
        request = allauth_context.request
        if not mail_limits.allow_request(request, email):
            security_log.record("mail_limited", account=None)
            raise ImmediateHttpResponse(errors.too_many_mails(request))
        recipient = account or selectors.account_find(email)
        language = recipient.language if recipient else ""
        outbox.add(template, email, lifetime, account=account, language=language)
