"""Where our accounts differ from allauth's defaults: addresses, limits and mails.

Pages are templates, rules for fields are in `account_forms.py`. Links in mails come
from the settings alone, never from a request, which anybody can forge.
"""

import logging
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as current
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

_log = logging.getLogger(__name__)


class CabinetAdapter(DefaultAccountAdapter):
    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": _("The e-mail address or the password is wrong."),
        "enter_current_password": _("This is not your current password."),
        "incorrect_password": _("The password is wrong."),
        "duplicate_email": _("This is your address already."),
    }

    # Requests

    def get_client_ip(self, request: HttpRequest) -> str:
        return clients.address(request)

    def is_ajax(self, request: HttpRequest) -> bool:
        """Pages answer as pages, whatever the headers ask for."""
        return False

    def is_safe_url(self, url: str | None) -> bool:
        """Redirect within the cabinet only, by a path."""
        return bool(url) and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    # Accounts and sessions

    def save_user(
        self,
        request: HttpRequest,
        user: AbstractBaseUser,
        form: BaseForm,
        commit: bool = True,
    ) -> AbstractBaseUser:
        """Remember the language of the sign-up: mails have to be written in one."""
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
        """Let nobody in by an address that they have not confirmed to be theirs."""
        user = super().authenticate(request, **credentials)
        is_theirs = user and user.get_username() == credentials.get("email")
        return user if is_theirs else None

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        """Begin a session, and take away some that have ended."""
        super().login(request, user)
        services.session_clear_ended()

    def _get_login_attempts_cache_key(
        self, request: HttpRequest, **credentials: Any
    ) -> str:
        # allauth puts the Host in front: a new port in it would be a new count.
        return str(credentials.get("email", "")).lower()

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """A fresh login, by whichever way, is as good as a password typed again."""
        session = (self.request or current.request).session
        age = timezone.now().timestamp() - session.get("began", 0)
        return bool(age > app_settings.REAUTHENTICATION_TIMEOUT)

    # Mails

    def get_email_confirmation_url(
        self, request: HttpRequest, emailconfirmation: Any
    ) -> str:
        return _link("account_confirm_email", key=emailconfirmation.key)

    def get_reset_password_from_key_url(self, key: str) -> str:
        uidb36, _dash, token = key.partition("-")
        return _link("account_reset_password_from_key", uidb36=uidb36, key=token)

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
        """Tell the owner; what has happened stays so when the mail fails."""
        facts = {
            "user": user,
            "at": timezone.now(),
            "ip": clients.address(current.request) if current.request else "",
        }
        try:
            to = email or user.get_username()
            self._send(template_prefix, to, facts | (context or {}))
        except OSError as error:
            _log_failure(template_prefix, error)

    def send_mail(
        self, template_prefix: str, email: str, context: dict[str, Any]
    ) -> None:
        """Send a mail without which its reader cannot go on, or say that it failed."""
        try:
            self._send(template_prefix, email, context)
        except OSError as error:
            _log_failure(template_prefix, error)
            # The next try must be allowed to send, not wait for this one's time.
            ratelimit.clear(current.request, action="confirm_email", key=email.lower())
            status = HTTPStatus.SERVICE_UNAVAILABLE
            page = render(current.request, "account/mail_failed.html", status=status)
            raise ImmediateHttpResponse(page) from None

    def _send(self, name: str, email: str, context: dict[str, Any]) -> None:
        reader = context.get("user") or selectors.account_find(email)
        language = reader.language if reader else ""
        with translation.override(language or translation.get_language()):
            self.render_mail(name, email, context).send()

    def render_mail(
        self,
        template_prefix: str,
        email: str | list[str],
        context: dict[str, Any],
        headers: dict[str, str] | None = None,
    ) -> EmailMultiAlternatives:
        """Write a mail as text; its HTML says the same, paragraph by paragraph."""
        url: str = settings.CABINET_URL
        facts = context | {"cabinet_url": url, "site": urlsplit(url).netloc}
        subject = render_to_string(f"{template_prefix}_subject.txt", facts)
        text = render_to_string(f"{template_prefix}_message.txt", facts).strip()
        mail = EmailMultiAlternatives(
            " ".join(subject.split()),
            text,
            to=[email] if isinstance(email, str) else email,
            headers=headers,
        )
        html = render_to_string(
            "account/email/frame.html",
            {"subject": mail.subject, "paragraphs": text.split("\n\n"), **facts},
        )
        mail.attach_alternative(html, "text/html")
        return mail


def _link(view: str, **arguments: str) -> str:
    return settings.CABINET_URL + reverse(view, kwargs=arguments)


def _log_failure(name: str, error: OSError) -> None:
    # The exception's own words may hold the address, or what the server said of it.
    _log.error("The mail %s could not be sent: %s", name, type(error).__name__)
