"""Where a second factor or a passkey is used: to log in, and to confirm who it is."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.stages import LoginStageController
from allauth.account.utils import (
    get_login_redirect_url,
    get_next_redirect_url,
    perform_login,
)
from allauth.account.views import BaseReauthenticateView
from allauth.core import context, ratelimit
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.models import Authenticator
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from readback.cabinet.accounts import selectors
from readback.cabinet.accounts.forms import NoLabelSuffixForm
from readback.cabinet.accounts.selectors import second_factors_of
from readback.cabinet.models import User
from readback.cabinet.second_factor import passkeys, services
from readback.cabinet.serving import allauth_internals, security_log
from readback.cabinet.serving.allauth_internals import post_authentication
from readback.cabinet.serving.errors import too_many_requests
from readback.cabinet.serving.visitors import AccountRequest, personal_form

# The session's key for the page that a new second factor leads back to.
AFTER_SECOND_FACTOR = "after_second_factor"
_CODE_LENGTH = 60
_LIMIT, _LIMIT_MINUTES = "second_factor", 5
# The key of allauth's `AuthenticateStage`; importing that would load fido2.
_STAGE = "mfa_authenticate"


class CodeField(forms.CharField):
    def __init__(self, label: Any, **attributes: Any) -> None:
        usual = {"autocomplete": "one-time-code", "spellcheck": "false"}
        widget = forms.TextInput(attrs=usual | attributes)
        super().__init__(label=label, max_length=_CODE_LENGTH, widget=widget)


class SecondFactorForm(NoLabelSuffixForm, forms.Form):
    """Use up a code; wrong ones are counted for the account, on all pages together."""

    # Without a keyboard for digits: recovery codes have letters.
    code = CodeField(gettext_lazy("Code"), autofocus=True)
    factor: Authenticator

    def __init__(self, *args: Any, account: User, **options: Any) -> None:
        super().__init__(*args, **options)
        self._account = account

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        request, key = context.request, str(self._account.pk)
        attempt = allauth_internals.ratelimit.consume(
            request, app="allauth.account", action=_LIMIT, key=key
        )
        if attempt is None:
            security_log.record("second_factor_limited", account=self._account.pk)
            raise ImmediateHttpResponse(too_many_requests(request, _LIMIT_MINUTES))
        factor = services.code_use(self._account, code)
        if factor is None:
            security_log.record("second_factor_failed", account=self._account.pk)
            raise ValidationError(
                _("This code is not correct, or it has already been used.")
            )
        attempt.rollback()
        self.factor = factor
        return code


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def authenticate(request: HttpRequest) -> Any:
    """Finish a login whose password was right, with a code or a passkey."""
    if request.user.is_authenticated:
        return redirect(get_login_redirect_url(request))
    stage = LoginStageController.enter(request, _STAGE)
    if stage is None:
        return redirect("account_login")
    account: User = stage.login.user
    factors = second_factors_of(account)
    if not factors.is_on:  # an operator has just removed them
        return redirect("account_login")
    is_code = "code" in request.POST
    form = SecondFactorForm(request.POST if is_code else None, account=account)
    used: Authenticator | HttpResponse | None = None
    if is_code and form.is_valid():
        used = form.factor
    elif request.method == "POST" and not is_code:
        used = _passkey_used(request, account, "second factor")
    if isinstance(used, HttpResponse):
        return used
    if used is not None:
        post_authentication(request, used)
        return stage.exit()
    shown = {"form": form, "factors": factors}
    return render(request, "second_factor/login.html", shown)


@require_POST
@never_cache
def passkey_login(request: HttpRequest) -> Any:
    """Log in with a passkey alone. Without an answer, say what to ask the browser."""
    if not passkeys.can_log_in(request):
        raise PermissionDenied
    if limited := ratelimit.consume_or_429(request, action="passkey_login"):
        return limited
    answer = request.POST.get("credential")
    if not answer:
        return JsonResponse(passkeys.login_options(request))
    try:
        used = passkeys.used_for_login(request, answer)
    except passkeys.PasskeyError:
        security_log.record("login_failed", account=None)
        messages.error(request, _("This passkey does not belong to any account here."))
        return redirect("account_login")
    post_authentication(request, used, passwordless=True)
    return perform_login(request, used.user)


def _passkey_used(
    request: HttpRequest, account: User, purpose: passkeys.Purpose
) -> Authenticator | HttpResponse | None:
    """Return the passkey that has answered, or what to ask the browser for.

    Return None, with a message for the page, if the answer proves nothing.
    """
    answer = request.POST.get("credential")
    if not answer:
        return JsonResponse(passkeys.factor_options(request, account, purpose))
    try:
        return passkeys.used_as_factor(request, account, purpose, answer)
    except passkeys.PasskeyError:
        security_log.record("second_factor_failed", account=account.pk)
        messages.error(request, _("This passkey does not belong to your account."))
        return None


class ConfirmByCodeView(BaseReauthenticateView):
    form_class = SecondFactorForm
    template_name = "second_factor/reauthenticate_code.html"

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "account": self.request.user}

    def form_valid(self, form: SecondFactorForm) -> Any:
        post_authentication(self.request, form.factor, reauthenticated=True)
        return super().form_valid(form)


class ConfirmByPasskeyView(BaseReauthenticateView):
    request: AccountRequest
    form_class = forms.Form
    template_name = "second_factor/reauthenticate_passkey.html"

    def form_valid(self, form: forms.Form) -> Any:
        used = _passkey_used(self.request, self.request.user, "confirm")
        if isinstance(used, HttpResponse):
            return used
        if used is None:
            return self.form_invalid(form)
        post_authentication(self.request, used, reauthenticated=True)
        return super().form_valid(form)


@personal_form
def log_in_again(request: HttpRequest) -> HttpResponse:
    """Confirm who it is, for an account with neither a password nor a second factor."""
    path = get_next_redirect_url(request) or reverse("account")
    if request.method == "POST":
        get_adapter().logout(request)
        return redirect(reverse("account_login", query={"next": path}))
    return render(request, "second_factor/log_in_again.html", {"next": path})


confirm_by_code = login_required(ConfirmByCodeView.as_view())
confirm_by_passkey = login_required(ConfirmByPasskeyView.as_view())


def lacks_second_factor(request: HttpRequest) -> bool:
    """Return whether an operator's session needs a second factor and has used none."""
    is_needed = settings.CONFIG.operator_second_factor
    return is_needed and not selectors.used_second_factor(request)


def ask_for_second_factor(request: HttpRequest, path: str) -> HttpResponse:
    """Redirect to where the operator adds or uses a second factor, and then to a path.

    A factor that was added after the login does not count until this session uses it.
    """
    factors = selectors.second_factors_of(request.user)
    if not factors.is_on:
        messages.warning(
            request, _("Operators need a second factor here. Add one to continue.")
        )
        request.session[AFTER_SECOND_FACTOR] = path
        return redirect("second_factor")
    messages.warning(request, _("Operators need their second factor here."))
    by_code = factors.app is not None or not passkeys.is_available(request)
    page = "mfa_reauthenticate" if by_code else "mfa_reauthenticate_webauthn"
    return redirect(reverse(page, query={"next": path}))
