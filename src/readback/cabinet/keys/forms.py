"""The cabinet's own forms. Services make the final checks."""

from datetime import datetime, timedelta

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts.forms import NameField

LIFETIMES = (
    ("", _("never")),
    ("1", _("in 1 day")),
    ("7", _("in 7 days")),
    ("30", _("in 30 days")),
    ("365", _("in 1 year")),
)


# In hours; see LONGEST_OVERLAP.
OVERLAPS = (
    ("0", _("now")),
    ("1", _("after 1 hour")),
    ("24", _("after 1 day")),
    ("168", _("after 7 days")),
)


class KeyForm(forms.Form):
    """The name and the expiry of a new key."""

    label = NameField(
        required=False,
        help_text=_(
            "Only you see the name, for example where you use the key: “laptop”."
        ),
    )
    days = forms.ChoiceField(label=_("Expires"), choices=LIFETIMES, required=False)

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days else None


class RenameForm(forms.Form):
    """Another name for a key."""

    label = NameField(required=False)


class RotationForm(forms.Form):
    """When a key ends that is replaced by a new one."""

    overlap = forms.ChoiceField(
        label=_("The old key ends"),
        choices=OVERLAPS,
        initial="24",
        widget=forms.RadioSelect,
    )

    @property
    def chosen(self) -> timedelta:
        return timedelta(hours=int(self.cleaned_data["overlap"]))
