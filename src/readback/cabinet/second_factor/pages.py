"""The pages on which an account adds and removes second factors.

They ask for a proof (password, factor or a new login) unless the login is recent.
"""

from allauth.account.decorators import reauthentication_required
from allauth.mfa.models import Authenticator
from cryptography.fernet import InvalidToken
from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from readback.cabinet.accounts.forms import (
    NameField,
    NoLabelSuffixForm,
    service_errors,
)
from readback.cabinet.accounts.selectors import second_factors_of
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.second_factor import passkeys, services, totp
from readback.cabinet.second_factor.login import AFTER_SECOND_FACTOR, CodeField
from readback.cabinet.second_factor.services import NewFactor
from readback.cabinet.serving import shown_once
from readback.cabinet.serving.allauth_internals import record_authentication
from readback.cabinet.serving.visitors import (
    AccountRequest,
    View,
    personal_form,
    personal_page,
)

# The session's key for the sealed secret of an app that is not added yet.
_NEW_SECRET = "new_totp_secret"
_PASSKEY_EXAMPLES = gettext_lazy(
    "For example where the passkey is: “phone” or “blue key”."
)


class NewAppForm(NoLabelSuffixForm, forms.Form):
    # Without autofocus: a phone would scroll past the QR code.
    code = CodeField(gettext_lazy("Code that the app shows"), inputmode="numeric")


class PasskeyNameForm(NoLabelSuffixForm, forms.Form):
    name = NameField(help_text=_PASSKEY_EXAMPLES)


class NewPasskeyForm(NoLabelSuffixForm, forms.Form):
    # Optional: the browser has created the passkey before the name is sent.
    name = NameField(help_text=_PASSKEY_EXAMPLES, required=False)


def _protected(view: View) -> View:
    """Ask for a proof, too, if the login is not recent."""
    return personal_form(reauthentication_required(view, app="allauth.mfa"))


@personal_page
def overview(request: AccountRequest) -> HttpResponse:
    context = {"factors": second_factors_of(request.user)}
    return render(request, "second_factor/overview.html", context)


@_protected
def app_add(request: AccountRequest) -> HttpResponse:
    if second_factors_of(request.user).app:
        return redirect("second_factor")
    secret = _new_secret(request)
    form = NewAppForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with service_errors(form, "code"):
            new = services.app_add(request.user, secret, form.cleaned_data["code"])
            del request.session[_NEW_SECRET]
            return _added(request, new, _("Your authenticator app has been added."))
    link = totp.link(request.user.email, secret)
    context = {
        "form": form,
        "secret": " ".join(secret[i : i + 4] for i in range(0, len(secret), 4)),
        "link": link,
        "qr_code": totp.qr_code(link),
    }
    return render(request, "second_factor/app_add.html", context)


def _new_secret(request: AccountRequest) -> str:
    """Return the secret that this session has been shown, so that a reload keeps it."""
    try:
        return totp.unseal(request.session[_NEW_SECRET])
    except (KeyError, InvalidToken):
        secret = totp.new_secret()
        request.session[_NEW_SECRET] = totp.seal(secret)
        return secret


@_protected
def app_remove(request: AccountRequest) -> HttpResponse:
    if not second_factors_of(request.user).app:
        return redirect("second_factor")
    if request.method == "POST":
        services.app_remove(request.user)
        messages.success(request, _("Your authenticator app has been removed."))
        return redirect("second_factor")
    return _ask_to_remove(request, {"is_app": True})


@_protected
def passkey_add(request: AccountRequest) -> HttpResponse:
    """Add a passkey. Without an answer of the browser, say what to ask it for."""
    form = NewPasskeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        answer = request.POST.get("credential")
        if not answer:
            return JsonResponse(passkeys.creation_options(request, request.user))
        with service_errors(form):
            try:
                credential = passkeys.verified_credential(request, answer)
            except passkeys.PasskeyError:
                problem = _("The passkey could not be added. Try again.")
                raise ServiceError(problem) from None
            name = form.cleaned_data["name"]
            new = services.passkey_add(request.user, name, credential)
            return _added(request, new, _("Your passkey has been added."))
    return render(request, "second_factor/passkey_add.html", {"form": form})


@_protected
def passkey_rename(request: AccountRequest, pk: int) -> HttpResponse:
    row = _owned_passkey(request, pk)
    form = PasskeyNameForm(request.POST or None, initial={"name": row.data["name"]})
    if request.method == "POST" and form.is_valid():
        with service_errors(form, "name"):
            services.passkey_rename(row, form.cleaned_data["name"])
            return redirect("second_factor")
    shown = {"form": form, "passkey": row}
    return render(request, "second_factor/passkey_rename.html", shown)


@_protected
def passkey_remove(request: AccountRequest, pk: int) -> HttpResponse:
    row = _owned_passkey(request, pk)
    if request.method == "POST":
        services.passkey_remove(row)
        messages.success(request, _("The passkey has been removed."))
        return redirect("second_factor")
    return _ask_to_remove(request, {"passkey": row})


@_protected
def recovery_codes(request: AccountRequest) -> HttpResponse:
    factors = second_factors_of(request.user)
    if not factors.is_on:
        return redirect("second_factor")
    if request.method == "POST":
        codes = services.recovery_codes_create(request.user)
        return _redirect_to_codes(request, codes)
    return render(request, "second_factor/recovery_codes.html", {"factors": factors})


# Not HEAD: it would use up the one time that the codes are shown.
@require_GET
@never_cache
@login_required
def new_recovery_codes(request: AccountRequest) -> HttpResponse:
    text = shown_once.pop(request)
    if text is None:
        messages.info(
            request,
            _(
                "These recovery codes have already been shown and cannot be shown "
                "again. If you did not save them, create new ones."
            ),
        )
        return redirect("second_factor")
    context = {
        "text": text,
        "codes": text.split(),
        "next": request.session.pop(AFTER_SECOND_FACTOR, reverse("second_factor")),
    }
    response = render(request, "second_factor/new_recovery_codes.html", context)
    shown_once.delete_cookie(response, request.path)
    return response


def _added(request: AccountRequest, new: NewFactor, message: str) -> HttpResponse:
    """Show the recovery codes that the first factor comes with."""
    # The browser has just proved that it has the factor.
    record_authentication(
        request, request.user, "mfa", id=new.row.pk, type=new.row.type
    )
    messages.success(request, message)
    if new.recovery_codes:
        return _redirect_to_codes(request, new.recovery_codes)
    return redirect(request.session.pop(AFTER_SECOND_FACTOR, "second_factor"))


def _redirect_to_codes(request: AccountRequest, codes: list[str]) -> HttpResponse:
    path = reverse("new_recovery_codes")
    return shown_once.redirect_to(path, request, "\n".join(codes))


def _ask_to_remove(request: AccountRequest, factor: dict[str, object]) -> HttpResponse:
    factors = second_factors_of(request.user)
    is_last = len(factors.passkeys) + (factors.app is not None) == 1
    return render(request, "second_factor/remove.html", {"is_last": is_last, **factor})


def _owned_passkey(request: AccountRequest, pk: int) -> Authenticator:
    """Return a passkey of the user; raise 404 for one of another account."""
    row: Authenticator = get_object_or_404(
        Authenticator, pk=pk, user=request.user, type=Authenticator.Type.WEBAUTHN
    )
    return row
