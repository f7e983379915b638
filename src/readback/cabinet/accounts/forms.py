"""The forms of the account pages: allauth's forms with our fields and labels.

`NormalisedEmailField` checks e-mail addresses, and validators in the settings check
passwords. Nothing here sends e-mail.

Only `User.email` identifies an account, not a new address that its owner has not
confirmed yet. With allauth's default, Mallory could claim Alice's address that way, so
that Alice could not sign up, or would reset the password of Mallory's account.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allauth.account import forms as allauth_forms
from django import forms
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from readback.cabinet import account_rules
from readback.cabinet.accounts import services
from readback.cabinet.models import User

EMAIL_LENGTH = User._meta.get_field("email").max_length
PASSWORD_HELP = format_lazy(
    _("At least {length} characters of any kind. A short sentence is fine."),
    length=settings.MIN_PASSWORD_LENGTH,
)


class NormalisedEmailField(forms.EmailField):
    """An e-mail address in the form that is stored and compared."""

    widget = forms.EmailInput(attrs={"autocomplete": "email"})
    default_error_messages = {"invalid": _("Enter a valid e-mail address.")}

    def __init__(self, **options: Any) -> None:
        options.setdefault("label", _("E-mail address"))
        super().__init__(max_length=EMAIL_LENGTH, **options)

    def clean(self, value: Any) -> str:
        address = account_rules.normalise(super().clean(value))
        # A domain may be longer in its ASCII form, so check the length again.
        self.run_validators(address)
        return address


class NameField(forms.CharField):
    """The name of a key or a passkey.

    The HTML has no `maxlength`, because browsers silently cut off longer names, and
    count an emoji as two or more characters.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(label=_("Name"), **options)

    def clean(self, value: Any) -> str:
        try:
            name = services.checked_name(super().clean(value))
        except services.ServiceError as error:
            raise ValidationError(str(error), "invalid") from None
        self.validate(name)  # It is empty if all characters are invisible.
        return name


@contextmanager
def service_errors(form: forms.Form, field: str) -> Iterator[None]:
    """Show the error of a service next to a field of the form."""
    try:
        yield
    except services.ServiceError as error:
        form.add_error(field, str(error))


class NoLabelSuffixForm:
    """Show labels without a colon, and no placeholders.

    The cursor is in the first field with an error. If the whole form was refused, it is
    in the password, which has to be typed again. Otherwise it is in the first field,
    unless `autofocus` is off because there is something to read first.
    """

    autofocus = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **options})

    def render(self, *args: Any, **options: Any) -> Any:
        fields = self.visible_fields()  # type: ignore[attr-defined]
        wrong = [field for field in fields if field.errors]
        if not wrong and self.errors:  # type: ignore[attr-defined]
            wrong = [field for field in fields if field.widget_type == "password"]
        for field in fields:
            field.field.widget.attrs.pop("placeholder", None)
        if fields and (wrong or self.autofocus):
            (wrong or fields)[0].field.widget.attrs["autofocus"] = True
        return super().render(*args, **options)  # type: ignore[misc]


class PasswordForm(NoLabelSuffixForm):
    """Describe the rules for a new password in one sentence, and ask for it only once.

    Once is enough, because browsers can show and store passwords.
    """

    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields.pop("password2", None)
        for name, field in self.fields.items():
            field.help_text = PASSWORD_HELP if name == "password1" else ""


class SignupForm(PasswordForm, allauth_forms.SignupForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["email"] = NormalisedEmailField()

    def clean_email(self) -> str:
        email: str = super().clean_email()
        account_rules.validate_domain(email)
        return email

    def validate_unique_email(self, value: str) -> str:
        self.account_already_exists = User.objects.filter(email=value).exists()
        return value

    def hash_password(self) -> None:
        """Replace the password with its hash, whether or not the address is known.

        Hashing takes as long as ten other requests. It must not happen inside the
        transaction, because SQLite allows one writer at a time.
        """
        self.password_hash = make_password(self.cleaned_data.pop("password1"))

    def try_save(self, request: HttpRequest) -> Any:
        """Save the account; answer in the same way if the address is known."""
        email = self.cleaned_data["email"]
        if self.account_already_exists and services.account_discard_unused(email):
            # The links in earlier e-mails have just stopped working.
            self.account_already_exists = False
        if not self.account_already_exists:
            try:
                with transaction.atomic():
                    return self.save(request), None
            except IntegrityError:
                # Another request created the account after our check.
                self.account_already_exists = True
        return super().try_save(request)


class LoginForm(PasswordForm, allauth_forms.LoginForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["login"] = NormalisedEmailField()


class ResetPasswordForm(NoLabelSuffixForm, allauth_forms.ResetPasswordForm):
    email = NormalisedEmailField()  # type: ignore[assignment]

    def clean_email(self) -> str:
        email = super().clean_email()
        self.users = [user for user in self.users if user.email == email]
        return email


class AddEmailForm(NoLabelSuffixForm, allauth_forms.AddEmailForm):
    email = NormalisedEmailField(label=_("New e-mail address"))  # type: ignore[assignment]

    def clean_email(self) -> str:
        email = super().clean_email()
        account_rules.validate_domain(email)
        return email


class ChangePasswordForm(PasswordForm, allauth_forms.ChangePasswordForm):
    pass


class SetPasswordForm(PasswordForm, allauth_forms.SetPasswordForm):
    pass


class ResetPasswordKeyForm(PasswordForm, allauth_forms.ResetPasswordKeyForm):
    pass


class ReauthenticateForm(PasswordForm, allauth_forms.ReauthenticateForm):
    pass


class DeleteAccountForm(NoLabelSuffixForm, forms.Form):
    """Ask for the account's address, so that no one deletes an account by accident."""

    autofocus = False  # on a phone, the keyboard would cover the text above
    email = NormalisedEmailField()

    def __init__(self, account: User, *args: Any) -> None:
        super().__init__(*args)
        self.account = account

    def clean_email(self) -> None:
        if self.cleaned_data["email"] != self.account.email:
            raise ValidationError(_("This is not the address of this account."))
