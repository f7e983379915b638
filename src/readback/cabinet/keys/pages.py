"""The key pages: the list, each key's page, and its actions."""

from functools import partial

from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from readback.cabinet.accounts.forms import service_errors
from readback.cabinet.keys import chart, journal, selectors, services
from readback.cabinet.keys.forms import KeyForm, RenameForm, RotationForm
from readback.cabinet.keys.new_key import live_part, show_once, version_of
from readback.cabinet.models import Key, key_is_active
from readback.cabinet.serving.visitors import (
    AccountRequest,
    personal_form,
    personal_page,
)
from readback.contract import JOURNAL_ROWS, MAX_ACTIVE_KEYS

# Keeps the page below its limit of 60 KB.
_ROWS_PER_PAGE = 14
# A script may have created and revoked hundreds of keys.
_INACTIVE_SHOWN = 20


@personal_form
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def key_list(request: AccountRequest) -> HttpResponse:
    form = KeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with service_errors(form, "label"):
            new = services.key_create(
                request.user,
                form.cleaned_data["label"],
                form.expires_at,
                explains_refusals=form.cleaned_data["explains_refusals"],
                rehearsal=form.cleaned_data["rehearsal"] or None,
            )
            return show_once(request, new)
    active = list(selectors.keys_active(request.user))
    current = [key for key in active if not key.replaced_by_id]
    inactive = selectors.keys_of(request.user).exclude(key_is_active())
    context = {
        "form": form,
        "active": active,
        "inactive": inactive[:_INACTIVE_SHOWN],
        "inactive_count": inactive.count(),
        "limit": MAX_ACTIVE_KEYS,
        "limit_reached": len(current) >= MAX_ACTIVE_KEYS,
    }
    return render(request, "keys/keys.html", context)


@personal_form
def rename(request: AccountRequest, key_id: int) -> HttpResponse:
    key = selectors.owned_key(request, key_id)
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
    key = selectors.owned_key(request, key_id)
    form = RotationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with service_errors(form, "overlap"):
            try:
                new = services.key_rotate(key, form.cleaned_data["overlap"])
                return show_once(request, new)
            except services.AlreadyRotated:
                # After a double click, the browser shows the second response; the
                # first click has put the new key into the session.
                key.refresh_from_db(fields=["replaced_by"])
                return redirect("new_key", key_id=key.replaced_by_id)
    return render(request, "keys/rotate.html", {"key": key, "form": form})


@personal_page
def detail(request: AccountRequest, key_id: int) -> HttpResponse:
    key = selectors.owned_key(request, key_id)
    context = {
        "unmatched_is_on": settings.CONFIG.unmatched_requests,
        **_activity(request, key),
    }
    return render(request, "keys/key.html", context)


@personal_page
def activity(request: AccountRequest, key_id: int) -> HttpResponse:
    context = _activity(request, selectors.owned_key(request, key_id))
    return live_part(request, "keys/key_activity.html", context)


@personal_form
def revoke(request: AccountRequest, key_id: int) -> HttpResponse:
    key = selectors.owned_key(request, key_id)
    if request.method == "POST":
        services.key_revoke(key)
        message = _("%(key)s is revoked. The API no longer accepts it.") % {"key": key}
        messages.success(request, message)
        return redirect("keys")
    return render(request, "keys/revoke.html", {"key": key})


@require_POST
@login_required
def set_explanations(request: AccountRequest, key_id: int) -> HttpResponse:
    key = selectors.owned_key(request, key_id)
    services.key_set_explanations(key, "explains_refusals" in request.POST)
    messages.success(request, _("The option has been saved."))
    return redirect("key", key_id=key.pk)


@require_POST
@login_required
def clear_journal(request: AccountRequest, key_id: int) -> HttpResponse:
    key = selectors.owned_key(request, key_id)
    services.journal_clear(key)
    messages.success(request, _("The journal has been cleared."))
    return redirect("key", key_id=key.pk)


def _activity(request: AccountRequest, key: Key) -> dict[str, object]:
    now = timezone.now()
    counts = selectors.usage_for_charts(key)
    outcome = request.GET.get("outcome", "")
    entries = list(selectors.journal_of(key, outcome))
    charts = [chart.last_day(counts, now), chart.last_month(counts, now)]
    rows = Paginator(entries, _ROWS_PER_PAGE).get_page(request.GET.get("page"))
    return {
        "key": key,
        "chart": charts[0],
        "month": charts[1],
        "outcome": outcome,
        "has_filter": outcome or len(entries) > _ROWS_PER_PAGE,
        "journal_rows": JOURNAL_ROWS,
        "rows": rows,
        # The template calls this, because most polls find nothing new to explain.
        "explained": partial(journal.explain_all, rows),
        "version": version_of(charts, [(entry.pk, entry.requests) for entry in rows]),
    }
