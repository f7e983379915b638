"""The second factor: our changes to allauth.mfa, which provides the pages.

A code works only once. Secrets are encrypted with the secret key. This module also
decides where passkeys work, and when operators need a second factor.
"""

import base64
import logging
import secrets
from typing import Any

from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base import forms as code_forms
from allauth.mfa.models import Authenticator
from allauth.mfa.totp import forms as totp_forms
from allauth.mfa.webauthn import forms as passkey_forms
from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.cache import cache
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction
from django.forms.utils import ErrorList
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts import selectors, sessions
from readback.cabinet.accounts.forms import NameField, NoLabelSuffixForm
from readback.cabinet.accounts.services import ServiceError, account_lock
from readback.cabinet.mail import notices
from readback.cabinet.models import User
from readback.cabinet.serving import errors, security_log
from readback.cabinet.storage.sealing import InvalidToken, seal, unseal
from readback.client_address import network

_log = logging.getLogger("readback.cabinet.second_factor")
MAX_PASSKEYS = 20
# Longer than an app's code is valid: its period, the one before and the one after.
_TOLERANCE_SECONDS = 4 * 30


class CabinetMFAAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Return the secret; if it cannot be decrypted, return a random one."""
        try:
            return unseal(encrypted_text)
        except InvalidToken:
            _log.error(
                "A second factor cannot be used: its secret was encrypted with another "
                "READBACK_SECRET_KEY."
            )
            return base64.b32encode(secrets.token_bytes(20)).decode()

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        # Django has checked the host against ALLOWED_HOSTS.
        return {"id": _host(context.request), "name": settings.BRAND.name}


class OnceForm(NoLabelSuffixForm):
    """Accept a code only once; allauth would accept it again within its tolerance."""

    user: Any
    cleaned_data: dict[str, Any]

    def clean_code(self) -> str:
        code = "".join(filter(str.isalnum, self.cleaned_data["code"]))
        try:
            super().clean_code()  # type: ignore[misc]
        except ValidationError as error:
            if error.code not in ("too_many_login_attempts", "rate_limited"):
                raise
            security_log.record("second_factor_limited", account=self.user.pk)
            page = errors.too_many_requests(context.request, errors.LOGIN_MINUTES)
            raise ImmediateHttpResponse(page) from None
        if not cache.add(f"code-{self.user.pk}-{code}", True, _TOLERANCE_SECONDS):
            raise CabinetMFAAdapter().validation_error("incorrect_code")
        return code


class CodeForm(OnceForm):
    """Accept a code from the app or a recovery code.

    Recovery codes cannot be guessed, so they work even after too many wrong codes.
    """

    authenticator: Authenticator

    def clean_code(self) -> str:
        code = "".join(filter(str.isalnum, self.cleaned_data["code"]))
        if len(code) != settings.MFA_RECOVERY_CODE_DIGITS:
            return super().clean_code()
        codes = Authenticator.Type.RECOVERY_CODES
        row = Authenticator.objects.filter(user=self.user, type=codes).first()
        if row is None or not row.wrap().validate_code(code):
            security_log.record("second_factor_failed", account=self.user.pk)
            raise CabinetMFAAdapter().validation_error("incorrect_code")
        self.authenticator = row
        return code


class ActivateTOTPForm(OnceForm, totp_forms.ActivateTOTPForm):
    autofocus = False  # a phone would scroll past the QR code


class LoginCodeForm(CodeForm, code_forms.AuthenticateForm):
    pass


class ConfirmCodeForm(CodeForm, code_forms.ReauthenticateForm):
    pass


class PasskeyForm(forms.Form):
    """Refuse input that allauth or fido2 cannot parse, without an internal error."""

    wrong = _("This passkey is not accepted here. It may have been removed.")

    def full_clean(self) -> None:
        try:
            super().full_clean()
        except Exception:  # the parsers raise many types of exceptions
            self.add_error("credential", ValidationError("", "invalid"))
        # Django's and allauth's messages are about a "value" or "code", not a passkey.
        for field in ("credential", NON_FIELD_ERRORS):
            for error in self.errors.get(field, ErrorList()).as_data():
                if error.code in ("required", "invalid", "incorrect_code"):
                    error.message = self.wrong
        # The page must not repeat the browser's answer.
        self.data = {**self.data, "credential": ""}


class AuthenticatePasskeyForm(PasskeyForm, passkey_forms.AuthenticateWebAuthnForm):
    pass


class ReauthenticatePasskeyForm(PasskeyForm, passkey_forms.ReauthenticateWebAuthnForm):
    pass


class LoginPasskeyForm(PasskeyForm, passkey_forms.LoginWebAuthnForm):
    pass


class AddPasskeyForm(NoLabelSuffixForm, PasskeyForm, passkey_forms.AddWebAuthnForm):
    wrong = _("The passkey was not added. Try again.")
    # Optional: the browser has created the passkey before the name is sent.
    name = NameField(required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["passwordless"].initial = True  # for the button on the login page

    def clean(self) -> dict[str, Any]:
        if len(selectors.second_factors_of(self.user).passkeys) >= MAX_PASSKEYS:
            raise ValidationError(
                _("An account can have at most %(limit)d passkeys. Remove one first."),
                params={"limit": MAX_PASSKEYS},
            )
        return super().clean()


class EditPasskeyForm(NoLabelSuffixForm, passkey_forms.EditWebAuthnForm):
    name = NameField()


@transaction.atomic
def second_factor_reset(account: User) -> None:
    """Remove all factors, which their owner has lost, and end all sessions."""
    account_lock(account)
    if not Authenticator.objects.filter(user=account).delete()[0]:
        raise ServiceError(_("This account has no second factor."))
    sessions.sessions_end(account)
    notices.notify("second_factor_reset", account)


def passkeys_work(request: HttpRequest) -> bool:
    """Return whether browsers offer passkeys at the address that the visitor uses.

    Browsers refuse passkeys for IP addresses, such as the default http://127.0.0.1.
    """
    host = _host(request)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    is_ip_address = bool(network(host))
    return settings.CABINET_URL.startswith("https:") and not is_ip_address


def _host(request: HttpRequest) -> str:
    host, _port = split_domain_port(request.get_host())
    return host.strip("[]")


def lacks_second_factor(request: HttpRequest) -> bool:
    """Return whether an operator's session lacks a second factor that it needs."""
    is_needed = settings.CONFIG.operator_second_factor
    return is_needed and not selectors.used_second_factor(request)


def ask_for_second_factor(request: HttpRequest, path: str) -> HttpResponse:
    """Redirect an operator to add or use a second factor, and then back to the path.

    A factor that another session has added does not count until this session uses it.
    """
    factors = selectors.second_factors_of(request.user)
    if not factors.is_on:
        messages.warning(
            request, _("Operators need a second factor here. Add one to continue.")
        )
        return redirect("mfa_index")
    messages.warning(request, _("Operators need their second factor here."))
    by_code = factors.app is not None or not passkeys_work(request)
    page = "mfa_reauthenticate" if by_code else "mfa_reauthenticate_webauthn"
    return redirect(reverse(page, query={"next": path}))
