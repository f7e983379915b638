"""The page of a new key, and what browsers poll while its owner waits for a request.

Until a request with the key arrives, the page shows requests from the reader's network
that had no accepted key. These requests also have their own page, for people
who wonder why nothing arrives.
"""

import time
from hashlib import blake2s
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from readback import keys
from readback.cabinet.keys import examples, journal, selectors, send_test, services
from readback.cabinet.models import Key
from readback.cabinet.serving.visitors import (
    AccountRequest,
    client_address,
    personal_page,
)
from readback.contract import MODEL, REFUSALS, UNMATCHED_SECONDS

# A session stores a new API key under this name, for at most this long.
_NEW_KEY = "new-key-{}"
_SHOWN_SECONDS = 300


def show_once(request: HttpRequest, new: services.NewKey) -> HttpResponse:
    """Redirect to the key's page, so that a reload does not create another key.

    Until that page is loaded, the key is in the session, which is stored encrypted.
    """
    request.session[_NEW_KEY.format(new.key.pk)] = [new.text, time.time()]
    return redirect("new_key", key_id=new.key.pk)


# Not HEAD, because the key can be shown only once. A POST sends a test; the form
# contains the key, and the page shows it again.
@require_http_methods(["GET", "POST"])
@login_required
def new_key(request: AccountRequest, key_id: int) -> HttpResponse:
    key = selectors.owned_key(request, key_id)
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
    test = send_test.from_post(request, text)
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
    status = 429 if test.outcome == send_test.Outcome.NOT_SENT else 200
    return render(request, "keys/new_key.html", context, status=status)


@personal_page
def latest_request(request: AccountRequest, key_id: int) -> HttpResponse:
    context = _latest_request(request, selectors.owned_key(request, key_id))
    return live_part(request, "keys/latest_request.html", context)


def _text_of(request: AccountRequest, key: Key) -> str | None:
    """Return the key's text from the test form or, once, from the session."""
    if request.method != "POST":
        text, at = request.session.pop(_NEW_KEY.format(key.pk), ("", 0.0))
        return text if time.time() - at < _SHOWN_SECONDS else None
    text = request.POST.get("key", "")
    digest = keys.digest(text.encode("utf-8", "replace"))
    return text if digest == bytes(key.digest) else None


def _latest_request(request: AccountRequest, key: Key) -> dict[str, object]:
    """Return the context for the latest request, or else for unmatched requests."""
    latest = selectors.latest_request(key, preferably_not_of=send_test.PROGRAM)
    if latest is None:
        return {"key": key, **unmatched(request)}
    is_test = latest.user_agent.startswith(send_test.PROGRAM)
    shown = {"test_entry": latest} if is_test else {"latest": journal.explain(latest)}
    return {"key": key, "version": version_of(latest.pk), **shown}


@personal_page
def unmatched_page(request: AccountRequest, key_id: int) -> HttpResponse:
    key = selectors.owned_key(request, key_id)
    if not settings.CONFIG.unmatched_requests:
        raise Http404
    context = {"key": key, **unmatched(request), **examples.probe_offer()}
    return render(request, "keys/key_unmatched.html", context)


def unmatched(request: HttpRequest) -> dict[str, object]:
    if not settings.CONFIG.unmatched_requests:
        return {"unmatched": None, "version": version_of()}
    rows = selectors.unmatched_requests(client_address(request))
    # During an upgrade, a newer API may write codes that this cabinet does not know.
    known = [row for row in rows if row.code in REFUSALS]
    return {
        "unmatched": [(row, journal.sentence(row)) for row in known],
        "minutes": UNMATCHED_SECONDS // 60,
        "version": version_of([(row.pk, row.requests) for row in known]),
    }


def live_part(
    request: HttpRequest, template: str, context: dict[str, Any]
) -> HttpResponse:
    """Return a part of a page for a poll, or 204 if the browser has this version."""
    if request.GET.get("seen") == context["version"]:
        return HttpResponse(status=204)
    response = render(request, template, context)
    response["X-Version"] = context["version"]
    return response


def version_of(*content: object) -> str:
    """Return a short hash that changes when the content of a part changes."""
    shown = repr((get_language(), content)).encode()
    return blake2s(shown, digest_size=8).hexdigest()
