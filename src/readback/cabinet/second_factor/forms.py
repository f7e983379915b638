"""The forms of second factors: codes, and names of passkeys."""

from typing import Any

from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal.ratelimit import consume
from allauth.mfa.models import Authenticator
from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts import login_limits
from readback.cabinet.accounts.forms import NameField, NoLabelSuffixForm
from readback.cabinet.models import User
from readback.cabinet.second_factor import services
from readback.cabinet.serving import security_log
from readback.cabinet.serving.errors import too_many_requests

_CODE_LENGTH = 60
_LIMIT = "second_factor"


class CodeField(forms.CharField):
    """A code of an app, or a recovery code."""

    def __init__(self, label: Any, **attributes: Any) -> None:
        usual = {"autocomplete": "one-time-code", "spellcheck": "false"}
        widget = forms.TextInput(attrs=usual | attributes)
        super().__init__(label=label, max_length=_CODE_LENGTH, widget=widget)


class NewAppForm(NoLabelSuffixForm, forms.Form):
    # Without autofocus: a phone would scroll past the QR code.
    code = CodeField(_("Code that the app shows"), inputmode="numeric")


class SecondFactorForm(NoLabelSuffixForm, forms.Form):
    """Use up a code; wrong ones are counted for the account, on all pages together."""

    # Without a keyboard for digits: recovery codes have letters.
    code = CodeField(_("Code"), autofocus=True)
    factor: Authenticator

    def __init__(self, *args: Any, account: User, **options: Any) -> None:
        super().__init__(*args, **options)
        self._account = account

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        request, key = context.request, str(self._account.pk)
        attempt = consume(request, app="allauth.account", action=_LIMIT, key=key)
        if attempt is None:
            security_log.record("second_factor_limited", account=self._account.pk)
            minutes = login_limits.minutes_until(request, _LIMIT, key)
            raise ImmediateHttpResponse(too_many_requests(request, minutes))
        factor = services.code_use(self._account, code)
        if factor is None:
            security_log.record("second_factor_failed", account=self._account.pk)
            raise ValidationError(
                _("This code is not correct, or it has already been used.")
            )
        attempt.rollback()
        self.factor = factor
        return code


class PasskeyNameForm(NoLabelSuffixForm, forms.Form):
    name = NameField(
        help_text=_("For example where the passkey is: “phone” or “blue key”."),
    )


class NewPasskeyForm(PasskeyNameForm):
    """The name is optional: the browser has created the passkey before it is sent."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["name"].required = False
