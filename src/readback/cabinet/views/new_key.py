"""A new key, shown once, with everything that is needed to use it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from readback.cabinet import refusals, selectors, shown_once, snippets
from readback.cabinet.models import Key
from readback.cabinet.views import live
from readback.cabinet.views.owned import AccountRequest, owned_key
from readback.contract import MODEL


# Not HEAD: it would use up the only time that the key is shown.
@require_GET
@never_cache
@login_required
def new_key(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    text = shown_once.take(request)
    if text is None:
        return _shown_already(request, key)
    base_url = selectors.address_current().base_url
    context = {
        "nav": "keys",
        "text": text,
        "model": MODEL,
        "snippets": snippets.filled(base_url, text),
        "settings": snippets.dialogue(base_url, text),
        **_arrived(key),
    }
    answer = render(request, "cabinet/new_key.html", context)
    shown_once.forget(answer, request.path)
    return answer


@require_safe
@never_cache
@login_required
def arrived(request: AccountRequest, key_id: int) -> HttpResponse:
    """Say what the newest request with this key was, or that there is none yet."""
    context = _arrived(owned_key(request, key_id))
    return live.answer(request, "cabinet/arrived.html", context)


def _arrived(key: Key) -> dict[str, object]:
    newest = selectors.journal_of(key).first()
    return {
        "key": key,
        "newest": refusals.explain(newest) if newest else None,
        "version": live.version_of(newest and newest.pk),
    }


def _shown_already(request: AccountRequest, key: Key) -> HttpResponse:
    messages.info(
        request,
        _(
            "A key is shown once, and this one has been. If you have not copied it, "
            "revoke it and create another."
        ),
    )
    return redirect("key", key_id=key.pk)
