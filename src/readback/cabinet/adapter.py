"""Our changes to allauth's defaults: client addresses, limits, sessions and e-mails.

The rules for form fields are in `account_forms.py`. Links in e-mails are built from the
settings, never from the request: anyone can forge its Host header.
"""

import logging
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as allauth_context
from allauth.core import ratelimit
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives
from django.forms import BaseForm
from django.http import HttpRequest
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _

from readback.cabinet import clients, security_log, selectors, services
from readback.cabinet.middleware import SESSION_STARTED

_log = logging.getLogger(__name__)


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
        form: BaseForm,
        commit: bool = True,
    ) -> AbstractBaseUser:
        """Save the account with the language of the sign-up page, for its e-mails."""
        user.language = translation.get_language()  # type: ignore[attr-defined]
        return super().save_user(request, user, form, commit)

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
        super().login(request, user)
        services.session_delete_expired()

    def _get_login_attempts_cache_key(
        self, request: HttpRequest, **credentials: Any
    ) -> str:
        # allauth prepends the Host header, so another port would start a new count.
        return str(credentials.get("email", "")).lower()

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Require the password unless the login, by any method, is recent."""
        session = (self.request or allauth_context.request).session
        age = timezone.now().timestamp() - session.get(SESSION_STARTED, 0)
        return bool(age > app_settings.REAUTHENTICATION_TIMEOUT)

    # E-mails

    def get_email_confirmation_url(
        self, request: HttpRequest, emailconfirmation: Any
    ) -> str:
        return _absolute_url("account_confirm_email", key=emailconfirmation.key)

    def get_reset_password_from_key_url(self, key: str) -> str:
        uidb36, _dash, token = key.partition("-")
        return _absolute_url(
            "account_reset_password_from_key", uidb36=uidb36, key=token
        )

    def send_password_reset_mail(
        self, user: AbstractBaseUser, email: str, context: dict[str, Any]
    ) -> None:
        security_log.record("password_reset_requested", account=user.pk)
        super().send_password_reset_mail(user, email, context)

    def send_notification_mail(
        self,
        template_prefix: str,
        user: AbstractBaseUser,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """Notify the owner; log a failed e-mail, because the change is already made."""
        request = allauth_context.request
        details = {
            "user": user,
            "at": timezone.now(),
            "ip": clients.address(request) if request else "",
        }
        try:
            to = email or user.get_username()
            self._send(template_prefix, to, details | (context or {}))
        except OSError as error:
            _log_mail_failure(template_prefix, error)

    def send_mail(
        self, template_prefix: str, email: str, context: dict[str, Any]
    ) -> None:
        """Send an e-mail that the user needs to continue, or show an error page."""
        request = allauth_context.request
        try:
            self._send(template_prefix, email, context)
        except OSError as error:
            _log_mail_failure(template_prefix, error)
            # Reset the limit, so that the next attempt is allowed to send.
            ratelimit.clear(request, action="confirm_email", key=email.lower())
            status = HTTPStatus.SERVICE_UNAVAILABLE
            response = render(request, "account/mail_failed.html", status=status)
            raise ImmediateHttpResponse(response) from None

    def _send(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        recipient = context.get("user") or selectors.account_find(email)
        language = recipient.language if recipient else ""
        with translation.override(language or translation.get_language()):
            self.render_mail(template_prefix, email, context).send()

    def render_mail(
        self,
        template_prefix: str,
        email: str | list[str],
        context: dict[str, Any],
        headers: dict[str, str] | None = None,
    ) -> EmailMultiAlternatives:
        """Return the e-mail as text, with the same paragraphs as HTML."""
        url: str = settings.CABINET_URL
        context = context | {"cabinet_url": url, "site": urlsplit(url).netloc}
        subject = render_to_string(f"{template_prefix}_subject.txt", context)
        text = render_to_string(f"{template_prefix}_message.txt", context).strip()
        mail = EmailMultiAlternatives(
            " ".join(subject.split()),
            text,
            to=[email] if isinstance(email, str) else email,
            headers=headers,
        )
        html = render_to_string(
            "account/email/layout.html",
            {"subject": mail.subject, "paragraphs": text.split("\n\n"), **context},
        )
        mail.attach_alternative(html, "text/html")
        return mail


def _absolute_url(view: str, **arguments: str) -> str:
    return settings.CABINET_URL + reverse(view, kwargs=arguments)


def _log_mail_failure(template_prefix: str, error: OSError) -> None:
    # The exception's text may contain the address or the mail server's reply to it.
    _log.error("Cannot send mail %s: %s", template_prefix, type(error).__name__)
