"""Our changes to allauth's defaults: client addresses, limits, sessions and e-mails.

`forms.py` has the rules for form fields, and `mail/rendering.py` renders e-mails.
"""

from datetime import timedelta
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.models import EmailAddress
from allauth.core import context as allauth_context
from allauth.core.exceptions import ImmediateHttpResponse, ReauthenticationRequired
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.http import url_has_allowed_host_and_scheme

from readback.cabinet import account_rules
from readback.cabinet.account_rules import provider_is_only_way
from readback.cabinet.accounts import selectors, sessions, single_sign_on
from readback.cabinet.mail import outbox, rendering
from readback.cabinet.serving import errors, security_log, visitors

# An e-mail is worth sending as long as its link works.
_CONFIRMATION = timedelta(days=settings.ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS)
_RESET = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
_SIGN_UP_MAIL = "account/email/email_confirmation_signup"
_AFTER_SIGN_UP = (_SIGN_UP_MAIL, "account/email/account_already_exists")

# Our templates for allauth's notices about second factors.
_ADDED = "account/email/second_factor_added"
_REMOVED = "account/email/second_factor_removed"
_FACTOR_NOTICES: dict[str, tuple[str, dict[str, str]]] = {
    "mfa/email/totp_activated": (_ADDED, {"factor": "app"}),
    "mfa/email/totp_deactivated": (_REMOVED, {"factor": "app"}),
    "mfa/email/webauthn_added": (_ADDED, {"factor": "passkey"}),
    "mfa/email/webauthn_removed": (_REMOVED, {"factor": "passkey"}),
    "mfa/email/recovery_codes_generated": ("account/email/recovery_codes_created", {}),
}


class OwnAddressBackend(AuthenticationBackend):
    """Authenticate by the account's own address, not by a new, unconfirmed one."""

    def authenticate(self, request: Any, **credentials: Any) -> Any:  # type: ignore[override]
        user = super().authenticate(request, **credentials)
        is_own_address = user and user.get_username() == credentials.get("email")
        return user if is_own_address else None


def count_mail(request: HttpRequest, email: str) -> None:
    """Count an e-mail that a visitor asks for; refuse it if there were too many."""
    if not outbox.allow_request(request, email):
        security_log.record("mail_limited", account=None)
        page = errors.too_many_requests(request, errors.MAIL_MINUTES)
        raise ImmediateHttpResponse(page)


class CabinetAdapter(DefaultAccountAdapter):
    def get_client_ip(self, request: HttpRequest) -> str:
        return visitors.client_address(request)

    def is_ajax(self, request: HttpRequest) -> bool:
        """Return whether allauth's script asks for the options of a passkey.

        All other requests are answered with a page, whatever their headers say.
        """
        match = request.resolver_match
        return match is not None and match.url_name == "mfa_login_webauthn"

    def is_safe_url(self, url: str | None) -> bool:
        """Return whether the URL is a path within the cabinet."""
        return bool(url) and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return account_rules.form_is_open()

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """Confirm the address, unless another account has it."""
        try:
            with transaction.atomic():
                return bool(super().confirm_email(request, email_address))
        except IntegrityError:
            template = "account/messages/email_confirmation_failed.txt"
            context = {"email": email_address.email}
            self.add_message(request, messages.ERROR, template, context)
            return False

    def save_user(self, request: Any, user: Any, form: Any, commit: bool = True) -> Any:
        """Save the account with the language of the sign-up page, for its e-mails."""
        super().save_user(request, user, form, commit=False)
        user.language = translation.get_language()
        user.password = form.password_hash
        user.save()
        return user

    def _get_login_attempts_cache_key(
        self, request: HttpRequest, **credentials: Any
    ) -> str:
        """Count per account and network, so that no stranger can lock the owner out."""
        return f"{visitors.network_of(request)} {credentials.get('email', '')}"

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            security_log.record("login_limited", account=None)
            page = errors.too_many_requests(request, errors.LOGIN_MINUTES)
            raise ImmediateHttpResponse(page) from None

    def login(self, request: HttpRequest, user: Any) -> None:
        if provider_is_only_way() and not selectors.used_provider(request, user):
            raise ImmediateHttpResponse(single_sign_on.no_passwords(request))
        super().login(request, user)

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Require reauthentication unless the login, by any method, is recent.

        An account with neither a password nor a second factor has to log in again;
        allauth would not ask for anything.
        """
        request = self.request or allauth_context.request
        now = timezone.now().timestamp()
        timeout = app_settings.REAUTHENTICATION_TIMEOUT
        if now - request.session.get(sessions.SESSION_STARTED, 0) <= timeout:
            return False
        if not super().get_reauthentication_methods(request.user):
            raise ReauthenticationRequired
        return True

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Return the methods that the account can use, or else only a new login."""
        methods = super().get_reauthentication_methods(user)
        if provider_is_only_way():
            methods = [each for each in methods if each["id"] != "reauthenticate"]
        url = reverse("log_in_again")
        return methods or [{"id": "log_in_again", "url": url, "description": ""}]

    # E-mails go through the outbox, so that no page waits for the mail server

    def send_confirmation_mail(
        self, request: HttpRequest, emailconfirmation: Any, signup: bool
    ) -> None:
        address = emailconfirmation.email_address
        template = _SIGN_UP_MAIL if signup else "account/email/email_confirmation"
        url = rendering.absolute_url("account_confirm_email", key=emailconfirmation.key)
        self._add_to_outbox(template, address.email, _CONFIRMATION, address.user, url)

    def send_password_reset_mail(self, user: Any, email: str, context: Any) -> None:
        security_log.record("password_reset_requested", account=user.pk)
        link = selectors.password_reset_link(user)
        template = "account/email/password_reset_key"
        self._add_to_outbox(template, email, _RESET, user, link)

    def send_mail(self, template_prefix: str, email: str, context: Any) -> None:
        """Queue an e-mail without a secret link, such as "account exists"."""
        self._add_to_outbox(template_prefix, email, _CONFIRMATION)

    def send_notification_mail(
        self, template_prefix: str, user: Any, context: Any = None, email: Any = None
    ) -> None:
        """Notify the owner, unless there were too many notices."""
        details = context or {}
        if template_prefix in _FACTOR_NOTICES:
            template_prefix, details = _FACTOR_NOTICES[template_prefix]
        request = allauth_context.request
        to = email or user.get_username()
        # Not limited: someone who took over the account could use up the limit first,
        # and the old address would not get this notice.
        is_limited = template_prefix != "account/email/email_changed"
        if is_limited and not outbox.allow_notice(request, to):
            security_log.record("mail_limited", account=user.pk)
            return
        ip = visitors.client_address(request) if request else ""
        # An e-mail about an account being deleted must not be deleted with it.
        owner = None if template_prefix == "account/email/account_deleted" else user
        outbox.add(
            template_prefix,
            to,
            outbox.NOTICE_LIFETIME,
            account=owner,
            details={"ip": ip, **details},
            language=user.language,
        )

    def _add_to_outbox(
        self,
        template: str,
        email: str,
        lifetime: timedelta,
        account: Any = None,
        link: str = "",
    ) -> None:
        """Add an e-mail that a visitor asked for, unless there were too many.

        E-mails after a sign-up have been counted already, by `SignUpView`.
        """
        if template not in _AFTER_SIGN_UP:
            count_mail(allauth_context.request, email)
        recipient = account or selectors.account_find(email)
        language = recipient.language if recipient else ""
        outbox.add(
            template, email, lifetime, account=account, language=language, link=link
        )
