"""The pages of keys: their list, the page of each, a new one, and their forms.

Services make the final checks. Requests without an accepted key belong to the reader's
network, not to a key or an account. They are on the page of a new key while its owner
waits, and on a page of their own, for whoever asks why nothing arrives.
"""

import time
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2s
from typing import Any

from allauth.account.decorators import reauthentication_required
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from readback.cabinet.accounts.forms import (
    NameField,
    NoLabelSuffixForm,
    service_errors,
)
from readback.cabinet.keys import (
    chart,
    examples,
    journal,
    selectors,
    send_test,
    services,
)
from readback.cabinet.keys.selectors import owned_key
from readback.cabinet.models import Key, key_is_active
from readback.cabinet.serving.visitors import (
    AccountRequest,
    client_address,
    personal_form,
    personal_page,
)
from readback.contract import (
    JOURNAL_ROWS,
    MAX_ACTIVE_KEYS,
    MODEL,
    REFUSALS,
    REVOCATION_SECONDS,
    UNMATCHED_SECONDS,
)

# The chart shows 30 days in UTC; one more covers the start of the first day.
_DAYS = 31
# Keeps the page below its limit of 60 KB.
_ROWS_PER_PAGE = 14
# The session's key for a new key, and how long its page has time to show it.
_NEW_KEY = "new-key-{}"
_SHOWN_SECONDS = 300
# A script may have created and revoked hundreds of keys.
_INACTIVE_SHOWN = 20
LIFETIMES = (
    ("", gettext_lazy("never")),
    ("1", gettext_lazy("in 1 day")),
    ("7", gettext_lazy("in 7 days")),
    ("30", gettext_lazy("in 30 days")),
    ("365", gettext_lazy("in 1 year")),
)
# Patterns of rehearsal keys. Any other can be chosen on the command line.
REHEARSALS = (
    ("", gettext_lazy("normal")),
    ("429 429 ok", gettext_lazy("429 twice, then normal")),
    ("429", gettext_lazy("always 429")),
    ("503 ok", gettext_lazy("503, then normal")),
    ("500 ok", gettext_lazy("500, then normal")),
    ("wait5", gettext_lazy("normal, after 5 seconds")),
    ("wait30", gettext_lazy("normal, after 30 seconds")),
)
# In hours; see LONGEST_OVERLAP.
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
            "follow the pattern, so that you can see how your program takes them."
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
    """When a key ends that is replaced by a new one."""

    overlap = forms.TypedChoiceField(
        label=gettext_lazy("The old key ends"),
        choices=OVERLAPS,
        coerce=lambda hours: timedelta(hours=int(hours)),
        initial="24",
        widget=forms.RadioSelect,
    )


@personal_form
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def key_list(request: AccountRequest) -> HttpResponse:
    form = KeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with service_errors(form, "label"):
            label = form.cleaned_data["label"]
            new = services.key_create(
                request.user,
                label,
                form.expires_at,
                explains_refusals=form.cleaned_data["explains_refusals"],
                rehearsal=form.cleaned_data["rehearsal"] or None,
            )
            return _show_once(request, new)
    active = list(selectors.keys_with_requests_today(request.user))
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
        with service_errors(form, "overlap"):
            try:
                new = services.key_rotate(key, form.cleaned_data["overlap"])
                return _show_once(request, new)
            except services.AlreadyRotated:
                # Of two clicks, the browser shows the second response. The session
                # has the new key since the first one.
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
    return render(request, "keys/key.html", context, status=test.page_status)


@personal_page
def activity(request: AccountRequest, key_id: int) -> HttpResponse:
    """Return the live part of the page: charts, totals and journal."""
    context = _activity(request, owned_key(request, key_id))
    return _live_part(request, "keys/key_activity.html", context)


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


def _live_part(
    request: HttpRequest, template: str, context: dict[str, Any]
) -> HttpResponse:
    """Return the part of a page that the browser polls; 204 if it has this version."""
    if request.GET.get("seen") == context["version"]:
        return HttpResponse(status=204)
    response = render(request, template, context)
    response["X-Version"] = context["version"]
    return response


def _version_of(*content: object) -> str:
    """Return a short hash that changes when the content of a part changes."""
    shown = repr((get_language(), content)).encode()
    return blake2s(shown, digest_size=8).hexdigest()


def _activity(request: AccountRequest, key: Key) -> dict[str, object]:
    now = timezone.now()
    counts = selectors.usage_of(key, _DAYS)
    filtered = journal.read(key, request.GET)
    charts = [chart.last_day(counts, now), chart.last_month(counts, now)]
    rows = Paginator(filtered.rows, _ROWS_PER_PAGE).get_page(request.GET.get("page"))
    return {
        "key": key,
        "chart": charts[0],
        "month": charts[1],
        "journal": filtered,
        "has_filters": filtered.is_filtered or len(filtered.entries) > _ROWS_PER_PAGE,
        "journal_rows": JOURNAL_ROWS,
        "rows": rows,
        # Called by the template: most polls find nothing new and render nothing.
        "explained": partial(journal.explain_all, rows),
        "version": _version_of(
            charts,
            (filtered.codes, filtered.programs),
            [(entry.pk, entry.requests) for entry in rows],
        ),
    }


def _show_once(request: HttpRequest, new: services.NewKey) -> HttpResponse:
    """Redirect to the page of the key, so that a reload does not make another one.

    On the way, the key is in the session, which is sealed and stored for a moment.
    """
    request.session[_NEW_KEY.format(new.key.pk)] = [new.text, time.time()]
    return redirect("new_key", key_id=new.key.pk)


# Not HEAD: it would use up the one time that the key is shown. A POST sends a test; it
# carries the key, which the page shows again.
@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def new_key(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    text = _text_of(request, key)
    if text is None:
        messages.info(
            request,
            _(
                "This key has already been shown and cannot be shown again. If you did "
                "not copy it, revoke it and create a new one."
            ),
        )
        return redirect("key", key_id=key.pk)
    test = send_test.from_post(request, key)
    base_url = settings.CONFIG.base_url
    context = {
        "text": text,
        "replaced": selectors.key_replaced_by(key),
        "test": test,
        "unmatched_is_on": settings.CONFIG.unmatched_requests,
        "minutes": UNMATCHED_SECONDS // 60,
        "snippets": examples.filled(base_url, text, examples.FIRST),
        "settings": {"Base URL": base_url, "Model": MODEL},
        **examples.probe_offer(),
        **_latest_request(request, key),
    }
    return render(request, "keys/new_key.html", context, status=test.page_status)


@personal_page
def latest_request(request: AccountRequest, key_id: int) -> HttpResponse:
    context = _latest_request(request, owned_key(request, key_id))
    return _live_part(request, "keys/latest_request.html", context)


def _text_of(request: AccountRequest, key: Key) -> str | None:
    """Return the key itself: from the form that sends a test, or handed over once."""
    if request.method != "POST":
        text, at = request.session.pop(_NEW_KEY.format(key.pk), ("", 0.0))
        return text if time.time() - at < _SHOWN_SECONDS else None
    text = request.POST.get("key", "")
    return text if send_test.is_key(key, text) else None


def _latest_request(request: AccountRequest, key: Key) -> dict[str, object]:
    """Return the latest request of a program, or else of our test, or of strangers."""
    latest = selectors.latest_request(key, but_rather_not_of=send_test.PROGRAM)
    if latest is None:
        return {"key": key, **unmatched(request)}
    is_test = latest.user_agent.startswith(send_test.PROGRAM)
    shown = {"test_entry": latest} if is_test else {"latest": journal.explain(latest)}
    return {"key": key, "version": _version_of(latest.pk), **shown}


@personal_page
def unmatched_page(request: AccountRequest, key_id: int) -> HttpResponse:
    key = _asked_for(request, key_id)
    context = {"key": key, **unmatched(request), **examples.probe_offer()}
    return render(request, "keys/key_unmatched.html", context)


@personal_page
def unmatched_part(request: AccountRequest, key_id: int) -> HttpResponse:
    _asked_for(request, key_id)
    return _live_part(request, "keys/unmatched.html", unmatched(request))


def unmatched(request: HttpRequest) -> dict[str, object]:
    """Return the context of keys/unmatched.html; without a query if it is off."""
    if not settings.CONFIG.unmatched_requests:
        return {"unmatched": None, "version": _version_of()}
    rows = selectors.unmatched_requests(client_address(request))
    # During an upgrade, a newer API may write a code that this cabinet does not know.
    known = [row for row in rows if row.code in REFUSALS]
    return {
        "unmatched": [(row, journal.sentence(row)) for row in known],
        "minutes": UNMATCHED_SECONDS // 60,
        "version": _version_of([(row.pk, row.requests) for row in known]),
    }


def _asked_for(request: AccountRequest, key_id: int) -> Key:
    key = owned_key(request, key_id)
    if not settings.CONFIG.unmatched_requests:
        raise Http404
    return key
