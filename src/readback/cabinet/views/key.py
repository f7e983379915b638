"""One key: its numbers, its journal, and its end."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from readback.cabinet import chart, refusals, selectors, services
from readback.cabinet.models import Key
from readback.cabinet.views import live
from readback.cabinet.views.owned import AccountRequest, owned_key
from readback.contract import REVOCATION_SECONDS

# The chart's thirty days, and the hours of the first one that are past its edge.
_DAYS = 31

# So many rows of the journal keep the page within its 60 KB.
_ROWS = 20

_OUTCOMES = {"accepted": True, "refused": False}


@require_safe
@never_cache
@login_required
def page(request: AccountRequest, key_id: int) -> HttpResponse:
    context = {"nav": "keys", **_numbers(request, owned_key(request, key_id))}
    return render(request, "cabinet/key.html", context)


@require_safe
@never_cache
@login_required
def numbers(request: AccountRequest, key_id: int) -> HttpResponse:
    """Give the live part of the page: charts, totals and journal."""
    context = _numbers(request, owned_key(request, key_id))
    return live.answer(request, "cabinet/key_numbers.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def revoke(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    if request.method == "POST":
        services.key_revoke(key)
        said = _("%(key)s is revoked and will not be accepted again.") % {"key": key}
        messages.success(request, said)
        return redirect("keys")
    context = {"nav": "keys", "key": key, "seconds": REVOCATION_SECONDS}
    return render(request, "cabinet/revoke.html", context)


@require_POST
@login_required
def clear(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    services.journal_clear(key)
    messages.success(request, _("The journal is empty."))
    return redirect("key", key_id=key.pk)


def _outcome(request: AccountRequest) -> str:
    asked = request.GET.get("outcome", "")
    return asked if asked in _OUTCOMES else ""


def _numbers(request: AccountRequest, key: Key) -> dict[str, object]:
    now, counts = timezone.now(), selectors.usage_of(key, _DAYS)
    charts = [chart.last_day(counts, now), chart.last_month(counts, now)]
    outcome = _outcome(request)
    entries = selectors.journal_of(key, _OUTCOMES.get(outcome))
    rows = Paginator(entries, _ROWS).get_page(request.GET.get("page"))
    return {
        "key": key,
        "charts": charts,
        "outcome": outcome,
        "rows": rows,
        "explained": [refusals.explain(entry) for entry in rows],
        "version": live.version_of(charts, [entry.pk for entry in rows]),
    }
