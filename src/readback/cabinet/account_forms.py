"""The forms of the account pages: allauth's, with our fields and words.

Rules of an address stand in `AddressField`, rules of a password in the settings'
validators; nothing here sends or decides what is sent.

An account is known by `User.email` alone. An address that it wants to change to, and
that nobody has confirmed, is no account: allauth would let Mallory claim the address
of Alice in that way, so that Alice could not sign up, or would reset a password of
Mallory's.
"""

from typing import Any

from allauth.account import forms as allauth_forms
from allauth.account.adapter import get_adapter
from django import forms
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.encoding import punycode
from django.utils.translation import gettext_lazy as _

from readback.cabinet.models import User

EMAIL_LENGTH = 254
PASSWORD_HELP = _("At least 12 characters, of any kind. A short sentence is fine.")


class AddressField(forms.EmailField):
    """An e-mail address in the one form in which it is compared, stored and used.

    Lower case, the domain in ASCII. The part before the @ must be ASCII as typed:
    some other letters become ASCII in lower case (the Kelvin sign, for one), and a
    reset link for one person's account would go to another person's address.
    """

    widget = forms.EmailInput(attrs={"autocomplete": "email"})
    default_error_messages = {"invalid": _("This is not an e-mail address.")}

    def __init__(self, **options: Any) -> None:
        options.setdefault("label", _("E-mail address"))
        super().__init__(max_length=EMAIL_LENGTH, **options)

    def clean(self, value: Any) -> str:
        local, _at, domain = super().clean(value).rpartition("@")
        if not local.isascii():
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        address = f"{local}@{punycode(domain)}".lower()
        # In ASCII the domain is longer.
        self.run_validators(address)
        return address


class _Plain:
    """Labels without a colon, as everywhere in the cabinet."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **options})


class _Worded(_Plain):
    """Gives allauth's password fields our words, and takes their placeholders."""

    _LABELS = {
        "password": _("Password"),
        "oldpassword": _("Current password"),
        "password1": _("New password"),
        "password2": _("New password, once more"),
    }
    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name, label in self._LABELS.items():
            if field := self.fields.get(name):
                field.label = label
                field.help_text = PASSWORD_HELP if name == "password1" else ""
                field.widget.attrs.pop("placeholder", None)


# The new account, or the answer to somebody whose address is known.
Saved = tuple[AbstractBaseUser | None, HttpResponse | None]


class SignupForm(_Worded, allauth_forms.SignupForm):
    _LABELS = {"password1": _("Password")}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["email"] = AddressField()

    def validate_unique_email(self, value: str) -> str:
        self.account_already_exists = User.objects.filter(email=value).exists()
        return value

    def try_save(self, request: HttpRequest) -> Saved:
        """Save, or answer a known address as slowly and in the same words."""
        if self.account_already_exists:
            User().set_password(self.cleaned_data["password1"])
        else:
            try:
                with transaction.atomic():
                    return self.save(request), None
            except IntegrityError:
                # Somebody signed up with it between our question and now.
                self.account_already_exists = True
        known: Saved = super().try_save(request)
        return known


class LoginForm(_Worded, allauth_forms.LoginForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["login"] = AddressField()


class ResetPasswordForm(_Plain, allauth_forms.ResetPasswordForm):
    email = AddressField()  # type: ignore[assignment]

    def clean_email(self) -> str:
        email = super().clean_email()
        self.users = [user for user in self.users if user.email == email]
        return email


class AddEmailForm(_Plain, allauth_forms.AddEmailForm):
    email = AddressField(label=_("New e-mail address"))  # type: ignore[assignment]


class ChangePasswordForm(_Worded, allauth_forms.ChangePasswordForm):
    pass


class SetPasswordForm(_Worded, allauth_forms.SetPasswordForm):
    pass


class ResetPasswordKeyForm(_Worded, allauth_forms.ResetPasswordKeyForm):
    pass


class ReauthenticateForm(_Worded, allauth_forms.ReauthenticateForm):
    pass


class LanguageForm(forms.Form):
    language = forms.ChoiceField(
        label=_("Language"),
        choices=[("", _("The browser's")), *settings.LANGUAGES],
        required=False,
    )


class DeleteAccountForm(_Plain, forms.Form):
    """Asks for the password; an account without one is named by its address."""

    password = forms.CharField(
        label=_("Password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    email = AddressField()

    def __init__(self, *args: Any, account: User, **options: Any) -> None:
        super().__init__(*args, **options)
        self._account = account
        del self.fields["email" if account.has_usable_password() else "password"]

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        adapter = get_adapter()
        if not adapter.reauthenticate(self._account, password):
            raise adapter.validation_error("incorrect_password")
        return password

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if email != self._account.email:
            raise ValidationError(_("This is not the address of this account."))
        return email
