"""The list of an account's keys, and the forms that create, rename and rotate one.

Services make the final checks.
"""

from datetime import datetime, timedelta

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from readback.cabinet.accounts.forms import NameField
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.keys import new_key, selectors, services
from readback.cabinet.keys.selectors import owned_key
from readback.cabinet.serving.visitors import AccountRequest
from readback.contract import MAX_ACTIVE_KEYS, REVOCATION_SECONDS

# A script may have created and revoked hundreds of keys.
_INACTIVE_SHOWN = 20
LIFETIMES = (
    ("", gettext_lazy("never")),
    ("1", gettext_lazy("in 1 day")),
    ("7", gettext_lazy("in 7 days")),
    ("30", gettext_lazy("in 30 days")),
    ("365", gettext_lazy("in 1 year")),
)
# In hours; see LONGEST_OVERLAP.
OVERLAPS = (
    ("0", gettext_lazy("now")),
    ("1", gettext_lazy("after 1 hour")),
    ("24", gettext_lazy("after 1 day")),
    ("168", gettext_lazy("after 7 days")),
)


class KeyForm(forms.Form):
    """The name and the expiry of a new key."""

    label = NameField(
        required=False,
        help_text=gettext_lazy(
            "Only you see the name, for example where you use the key: “laptop”."
        ),
    )
    days = forms.ChoiceField(
        label=gettext_lazy("Expires"), choices=LIFETIMES, required=False
    )

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
        label=gettext_lazy("The old key ends"),
        choices=OVERLAPS,
        initial="24",
        widget=forms.RadioSelect,
    )

    @property
    def chosen(self) -> timedelta:
        return timedelta(hours=int(self.cleaned_data["overlap"]))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def key_list(request: AccountRequest) -> HttpResponse:
    form = KeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            label = form.cleaned_data["label"]
            new = services.key_create(request.user, label, form.expires_at)
            return new_key.show_once(request, new)
        except ServiceError as error:
            form.add_error(None, str(error))
    return render(request, "keys/keys.html", {"form": form, **_lists(request)})


def _lists(request: AccountRequest) -> dict[str, object]:
    active = list(selectors.keys_with_requests_today(request.user))
    current = [key for key in active if not key.replaced_by_id]
    inactive, inactive_count = selectors.keys_inactive(request.user, _INACTIVE_SHOWN)
    return {
        "nav": "keys",
        "active": active,
        "inactive": inactive,
        "inactive_count": inactive_count,
        "limit": MAX_ACTIVE_KEYS,
        "limit_reached": len(current) >= MAX_ACTIVE_KEYS,
    }


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def rename(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    form = RenameForm(request.POST or None, initial={"label": key.label})
    if request.method == "POST" and form.is_valid():
        try:
            services.key_rename(key, form.cleaned_data["label"])
        except ServiceError as error:
            form.add_error("label", str(error))
        else:
            messages.success(request, _("The name has been saved."))
            return redirect("key", key_id=key.pk)
    context = {"nav": "keys", "key": key, "form": form}
    return render(request, "keys/rename.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def rotate(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    form = RotationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            return new_key.show_once(request, services.key_rotate(key, form.chosen))
        except services.AlreadyRotated:
            # Of two clicks, the browser shows the second response. The cookie of the
            # first one lets this page show the new key, too.
            key.refresh_from_db(fields=["replaced_by"])
            return redirect("new_key", key_id=key.replaced_by_id)
        except ServiceError as error:
            form.add_error(None, str(error))
    context = {
        "nav": "keys",
        "key": key,
        "form": form,
        "seconds": REVOCATION_SECONDS,
    }
    return render(request, "keys/rotate.html", context)
