"""The forms to create, rename and rotate keys. The services check limits and names."""

from datetime import datetime, timedelta

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy

from readback.cabinet.accounts.forms import NameField, NoLabelSuffixForm

LIFETIMES = (
    ("", gettext_lazy("never")),
    ("1", gettext_lazy("in 1 day")),
    ("7", gettext_lazy("in 7 days")),
    ("30", gettext_lazy("in 30 days")),
    ("365", gettext_lazy("in 1 year")),
)
# Patterns of rehearsal keys. The command line accepts any pattern.
REHEARSALS = (
    ("", gettext_lazy("normal")),
    ("429 429 ok", gettext_lazy("429 twice, then normal")),
    ("429", gettext_lazy("always 429")),
    ("503 ok", gettext_lazy("503, then normal")),
    ("500 ok", gettext_lazy("500, then normal")),
    ("wait5", gettext_lazy("normal, after 5 seconds")),
    ("wait30", gettext_lazy("normal, after 30 seconds")),
)
# In hours, at most LONGEST_OVERLAP.
OVERLAPS = (
    ("0", gettext_lazy("now")),
    ("1", gettext_lazy("after 1 hour")),
    ("24", gettext_lazy("after 1 day")),
    ("168", gettext_lazy("after 7 days")),
)


class KeyForm(NoLabelSuffixForm, forms.Form):
    autofocus = False  # the list of keys is above it
    label = NameField(
        required=False,
        help_text=gettext_lazy(
            "Optional: only you see the name, such as where you use the key: “laptop”."
        ),
    )
    days = forms.ChoiceField(
        label=gettext_lazy("Expires"), choices=LIFETIMES, required=False
    )
    rehearsal = forms.ChoiceField(
        label=gettext_lazy("Answers"),
        choices=REHEARSALS,
        required=False,
        help_text=gettext_lazy(
            "Choose a failure or a delay to create a rehearsal key: all its answers "
            "follow the pattern, so that you can see how your program handles them."
        ),
    )
    explains_refusals = forms.BooleanField(
        label=gettext_lazy("Explain refusals in the body"),
        help_text=gettext_lazy(
            "Your program then shows “Error code: 400 - The field temperature is not "
            "accepted: …”, for example, and not only “Error code: 400”."
        ),
        required=False,
    )

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days else None


class RenameForm(NoLabelSuffixForm, forms.Form):
    label = NameField(required=False)


class RotationForm(forms.Form):
    overlap = forms.TypedChoiceField(
        label=gettext_lazy("The old key ends"),
        choices=OVERLAPS,
        coerce=lambda hours: timedelta(hours=int(hours)),
        initial="24",
        widget=forms.RadioSelect,
    )
