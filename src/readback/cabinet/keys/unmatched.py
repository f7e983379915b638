"""Unmatched requests: what the reader's network has sent without an accepted key.

Shown to whoever waits for the first request of a key, or asks why there is none. The
rows belong to a network and not to a key or an account.
"""

from functools import partial

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from readback.cabinet.keys import live_parts, refusals, selectors, snippets
from readback.cabinet.keys.selectors import owned_key
from readback.cabinet.models import Key
from readback.cabinet.serving import visitors
from readback.cabinet.serving.visitors import AccountRequest
from readback.contract import REFUSALS, UNMATCHED_SECONDS


@require_safe
@never_cache
@login_required
def page(request: AccountRequest, key_id: int) -> HttpResponse:
    key = _asked_for(request, key_id)
    context = {"nav": "keys", "key": key, **recent(request), **snippets.probe_offer()}
    return render(request, "keys/key_unmatched.html", context)


@require_safe
@never_cache
@login_required
def part(request: AccountRequest, key_id: int) -> HttpResponse:
    """Return the live part of the page."""
    _asked_for(request, key_id)
    return live_parts.respond(request, "keys/unmatched.html", partial(recent, request))


def recent(request: HttpRequest) -> dict[str, object]:
    """Return the context of keys/unmatched.html; without a query if it is off."""
    if not is_on():
        return {"unmatched": None, "version": live_parts.version_of()}
    rows = selectors.unmatched_requests(visitors.client_address(request))
    # During an upgrade, a newer API may write a code that this cabinet does not know.
    known = [row for row in rows if row.code in REFUSALS]
    return {
        "unmatched": [(row, refusals.sentence(row)) for row in known],
        "minutes": UNMATCHED_SECONDS // 60,
        "version": live_parts.version_of(
            [(row.pk, row.at, row.digest) for row in known]
        ),
    }


def is_on() -> bool:
    return bool(settings.CONFIG.unmatched_requests)


def _asked_for(request: AccountRequest, key_id: int) -> Key:
    key = owned_key(request, key_id)
    if not is_on():
        raise Http404
    return key
