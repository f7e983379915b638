"""The list of an account's keys, the page of each key, and their forms.

Services make the final checks.
"""

from datetime import datetime, timedelta
from functools import partial

from allauth.account.decorators import reauthentication_required
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from readback.cabinet.accounts.forms import NameField, service_errors
from readback.cabinet.keys import (
    chart,
    journal,
    live_parts,
    new_key,
    refusals,
    selectors,
    send_test,
    services,
)
from readback.cabinet.keys.selectors import owned_key
from readback.cabinet.models import Key
from readback.cabinet.serving import downloads
from readback.cabinet.serving.visitors import (
    AccountRequest,
    personal_form,
    personal_page,
)
from readback.contract import JOURNAL_ROWS, MAX_ACTIVE_KEYS, REVOCATION_SECONDS

# The chart shows 30 days in UTC; one more covers the start of the first day.
_DAYS = 31
# Keeps the page below its limit of 60 KB.
_ROWS_PER_PAGE = 14
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


@personal_form
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def key_list(request: AccountRequest) -> HttpResponse:
    form = KeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with service_errors(form):
            label = form.cleaned_data["label"]
            new = services.key_create(request.user, label, form.expires_at)
            return new_key.show_once(request, new)
    active = list(selectors.keys_with_requests_today(request.user))
    current = [key for key in active if not key.replaced_by_id]
    inactive, inactive_count = selectors.keys_inactive(request.user, _INACTIVE_SHOWN)
    context = {
        "form": form,
        "active": active,
        "inactive": inactive,
        "inactive_count": inactive_count,
        "limit": MAX_ACTIVE_KEYS,
        "limit_reached": len(current) >= MAX_ACTIVE_KEYS,
    }
    return render(request, "keys/keys.html", context)


@personal_form
def rename(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    form = RenameForm(request.POST or None, initial={"label": key.label})
    if request.method == "POST" and form.is_valid():
        with service_errors(form, "label"):
            services.key_rename(key, form.cleaned_data["label"])
            messages.success(request, _("The name has been saved."))
            return redirect("key", key_id=key.pk)
    return render(request, "keys/rename.html", {"key": key, "form": form})


@personal_form
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def rotate(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    form = RotationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with service_errors(form):
            try:
                return new_key.show_once(request, services.key_rotate(key, form.chosen))
            except services.AlreadyRotated:
                # Of two clicks, the browser shows the second response. The cookie of
                # the first one lets this page show the new key, too.
                key.refresh_from_db(fields=["replaced_by"])
                return redirect("new_key", key_id=key.replaced_by_id)
    context = {"key": key, "form": form, "seconds": REVOCATION_SECONDS}
    return render(request, "keys/rotate.html", context)


# A POST sends a test with the key that the form contains.
@personal_form
def detail(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    test = send_test.from_post(request, key)
    context = {
        "unmatched_is_on": settings.CONFIG.unmatched_requests,
        "test": test,
        **_activity(request, key),
    }
    return render(request, "keys/key.html", context, status=test.status)


@personal_page
def activity(request: AccountRequest, key_id: int) -> HttpResponse:
    """Return the live part of the page: charts, totals and journal."""
    read = partial(_activity, request, owned_key(request, key_id))
    return live_parts.respond(request, "keys/key_activity.html", read)


@personal_form
def revoke(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    if request.method == "POST":
        services.key_revoke(key)
        message = _("%(key)s is revoked. The API no longer accepts it.") % {"key": key}
        messages.success(request, message)
        return redirect("keys")
    context = {"key": key, "seconds": REVOCATION_SECONDS}
    return render(request, "keys/revoke.html", context)


@require_POST
@login_required
def set_explanations(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    services.key_set_explanations(key, "explains_refusals" in request.POST)
    messages.success(request, _("The option has been saved."))
    return redirect("key", key_id=key.pk)


@require_POST
@login_required
def clear_journal(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    services.journal_clear(key)
    messages.success(request, _("The journal has been cleared."))
    return redirect("key", key_id=key.pk)


def _activity(request: AccountRequest, key: Key) -> dict[str, object]:
    now, counts = timezone.now(), selectors.usage_of(key, _DAYS)
    charts = [chart.last_day(counts, now), chart.last_month(counts, now)]
    chosen = journal.JournalFilter.from_query(request.GET)
    filtered = journal.read(key, chosen)
    rows = Paginator(filtered.rows, _ROWS_PER_PAGE).get_page(request.GET.get("page"))
    return {
        "key": key,
        "charts": charts,
        "journal": filtered,
        "journal_rows": JOURNAL_ROWS,
        "rows": rows,
        # The end of each URL that shows another part of the journal.
        "queries": {
            "all": chosen._replace(outcome="").query(),
            journal.ACCEPTED: chosen._replace(outcome=journal.ACCEPTED).query(),
            journal.REFUSED: chosen._replace(outcome=journal.REFUSED).query(),
            "export": chosen.query(),
            "newer": chosen.query(rows.number - 1),
            "shown": chosen.query(rows.number),
            "older": chosen.query(rows.number + 1),
        },
        # Called by the template: most polls find nothing new and render nothing.
        "explained": partial(refusals.explain_all, rows),
        "differences": partial(refusals.count_differences, filtered.entries),
        "version": live_parts.version_of(
            charts,
            (filtered.codes, filtered.programs),
            [entry.pk for entry in rows],
        ),
    }


@personal_page
def export(request: AccountRequest, key_id: int, extension: str) -> HttpResponse:
    """Return all rows that match the filter in the URL, not only those of a page."""
    key = owned_key(request, key_id)
    chosen = journal.JournalFilter.from_query(request.GET)
    rows = journal.read(key, chosen).rows
    lines = downloads.lines(extension, journal.COLUMNS, rows)
    response = HttpResponse(lines, downloads.MEDIA_TYPES[extension])
    # Letters, digits and hyphens, whatever the key is called.
    parts = filter(None, ("journal", slugify(key.label), key.last_four))
    downloads.name_file(response, "-".join(parts), extension)
    return response
