"""The page that shows a new key once, and what arrives while its owner waits.

Requests without an accepted key belong to the reader's network, not to a key or an
account. They are also on a page of their own, for whoever asks why nothing arrives.
"""

from functools import partial

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from readback.cabinet.keys import (
    live_parts,
    refusals,
    selectors,
    send_test,
    services,
    snippets,
)
from readback.cabinet.keys.selectors import owned_key
from readback.cabinet.keys.send_test import PROGRAM
from readback.cabinet.models import Key
from readback.cabinet.serving import shown_once, visitors
from readback.cabinet.serving.visitors import AccountRequest, personal_page
from readback.contract import MODEL, REFUSALS, UNMATCHED_SECONDS


def show_once(request: HttpRequest, new: services.NewKey) -> HttpResponse:
    path = reverse("new_key", args=[new.key.pk])
    return shown_once.redirect_to(path, request, new.text)


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
        "model": MODEL,
        "snippets": snippets.filled(base_url, text),
        "settings": snippets.dialogue(base_url, text),
        **snippets.probe_offer(),
        **_latest_request(request, key),
    }
    response = render(request, "keys/new_key.html", context, status=test.status)
    shown_once.delete_cookie(response, request.path)
    return response


@personal_page
def latest_request(request: AccountRequest, key_id: int) -> HttpResponse:
    read = partial(_latest_request, request, owned_key(request, key_id))
    return live_parts.respond(request, "keys/latest_request.html", read)


def _text_of(request: AccountRequest, key: Key) -> str | None:
    """Return the key itself: from the form that sends a test, or handed over once."""
    if request.method != "POST":
        return shown_once.pop(request)
    text = request.POST.get("key", "")
    return text if send_test.is_key(key, text) else None


def _latest_request(request: AccountRequest, key: Key) -> dict[str, object]:
    """Return the latest request of a program, or what else has arrived so far."""
    latest = selectors.latest_request(key, but_rather_not_of=PROGRAM)
    if latest is None or latest.user_agent.startswith(PROGRAM):
        waiting = unmatched(request)
        version = live_parts.version_of(waiting["version"], latest and latest.pk)
        return {**waiting, "key": key, "test_entry": latest, "version": version}
    return {
        "key": key,
        "latest": refusals.explain(latest),
        "version": live_parts.version_of(latest.pk),
    }


@personal_page
def unmatched_page(request: AccountRequest, key_id: int) -> HttpResponse:
    key = _asked_for(request, key_id)
    context = {"key": key, **unmatched(request), **snippets.probe_offer()}
    return render(request, "keys/key_unmatched.html", context)


@personal_page
def unmatched_part(request: AccountRequest, key_id: int) -> HttpResponse:
    _asked_for(request, key_id)
    read = partial(unmatched, request)
    return live_parts.respond(request, "keys/unmatched.html", read)


def unmatched(request: HttpRequest) -> dict[str, object]:
    """Return the context of keys/unmatched.html; without a query if it is off."""
    if not settings.CONFIG.unmatched_requests:
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


def _asked_for(request: AccountRequest, key_id: int) -> Key:
    key = owned_key(request, key_id)
    if not settings.CONFIG.unmatched_requests:
        raise Http404
    return key
