"""The cabinet's own forms: what may be typed, before a service decides."""

from datetime import datetime, timedelta

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from readback.cabinet.models import LABEL_LENGTH

LIFETIMES = (
    ("", _("never")),
    ("1", _("in a day")),
    ("7", _("in a week")),
    ("30", _("in 30 days")),
    ("365", _("in a year")),
)


class KeyForm(forms.Form):
    """A new key: what the owner calls it, and when it ends by itself."""

    label = forms.CharField(
        label=_("Name"),
        max_length=LABEL_LENGTH,
        required=False,
        help_text=_("For you: where the key will live, such as “laptop”."),
    )
    days = forms.ChoiceField(label=_("Expires"), choices=LIFETIMES, required=False)

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days else None
