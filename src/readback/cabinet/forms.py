"""The cabinet's own forms. Services make the final checks."""

from datetime import datetime, timedelta

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from readback.cabinet.models import LABEL_LENGTH

LIFETIMES = (
    ("", _("never")),
    ("1", _("in 1 day")),
    ("7", _("in 7 days")),
    ("30", _("in 30 days")),
    ("365", _("in 1 year")),
)


class KeyForm(forms.Form):
    """The name and the expiry of a new key."""

    label = forms.CharField(
        label=_("Name"),
        max_length=LABEL_LENGTH,
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
