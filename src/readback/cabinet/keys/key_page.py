"""The page of a key: charts, journal and its file, option, revoking and clearing."""

from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Page, Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from readback.cabinet.keys import (
    chart,
    journal,
    live_parts,
    refusals,
    selectors,
    send_test,
    services,
    unmatched,
)
from readback.cabinet.keys.journal import FORMATS, exported
from readback.cabinet.keys.selectors import owned_key
from readback.cabinet.models import JournalEntry, Key
from readback.cabinet.serving.visitors import AccountRequest
from readback.contract import JOURNAL_ROWS, REVOCATION_SECONDS

# The chart shows 30 days in UTC; one more covers the start of the first day.
_DAYS = 31

# Keeps the page below its limit of 60 KB.
_ROWS_PER_PAGE = 14


# A POST sends a test with the key that the form contains.
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def detail(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    test = send_test.from_post(request, key)
    context = {
        "nav": "keys",
        "unmatched_is_on": unmatched.is_on(),
        "test": test,
        **_activity(request, key),
    }
    return render(request, "keys/key.html", context, status=test.status)


@require_safe
@never_cache
@login_required
def activity(request: AccountRequest, key_id: int) -> HttpResponse:
    """Return the live part of the page: charts, totals and journal."""
    read = partial(_activity, request, owned_key(request, key_id))
    return live_parts.respond(request, "keys/key_activity.html", read)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def revoke(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    if request.method == "POST":
        services.key_revoke(key)
        message = _("%(key)s is revoked. The API no longer accepts it.") % {"key": key}
        messages.success(request, message)
        return redirect("keys")
    context = {"nav": "keys", "key": key, "seconds": REVOCATION_SECONDS}
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
    options = (filtered.codes, filtered.programs)
    return {
        "key": key,
        "charts": charts,
        "journal": filtered,
        "journal_rows": JOURNAL_ROWS,
        "rows": rows,
        "queries": _queries(chosen, rows),
        # Called by the template: most polls find nothing new and render nothing.
        "explained": partial(refusals.explain_all, rows),
        "differences": partial(refusals.count_differences, filtered.entries),
        "version": live_parts.version_of(charts, options, [entry.pk for entry in rows]),
    }


def _queries(
    chosen: journal.JournalFilter, rows: "Page[JournalEntry]"
) -> dict[str, str]:
    """Return the end of each URL that shows another part of the journal."""
    number = rows.number
    return {
        "all": chosen._replace(outcome="").query(),
        journal.ACCEPTED: chosen._replace(outcome=journal.ACCEPTED).query(),
        journal.REFUSED: chosen._replace(outcome=journal.REFUSED).query(),
        "export": chosen.query(),
        "newer": chosen.query(number - 1),
        "shown": chosen.query(number),
        "older": chosen.query(number + 1),
    }


@require_safe
@never_cache
@login_required
def export(request: AccountRequest, key_id: int, extension: str) -> HttpResponse:
    """Return all rows that match the filter in the URL, not only those of a page."""
    key = owned_key(request, key_id)
    chosen = journal.JournalFilter.from_query(request.GET)
    form = FORMATS[extension]
    text = form.write(map(exported, journal.read(key, chosen).rows))
    response = HttpResponse(text, form.media_type)
    name = f"{_name(key)}.{extension}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _name(key: Key) -> str:
    """Return a name of letters, digits and hyphens, whatever the key is called."""
    parts = ("readback-journal", slugify(key.label), key.last_four)
    return "-".join(filter(None, (*parts, f"{timezone.now():%Y-%m-%d}")))
