"""The list of an account's keys, and the form that creates one."""

from allauth.account.decorators import reauthentication_required
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.keys import new_key, selectors, services
from readback.cabinet.keys.forms import KeyForm
from readback.cabinet.serving.requests import AccountRequest
from readback.contract import MAX_ACTIVE_KEYS

# A script may have created and revoked hundreds of keys.
_INACTIVE_SHOWN = 20


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def key_list(request: AccountRequest) -> HttpResponse:
    form = KeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            return _create(request, form)
        except ServiceError as error:
            form.add_error(None, str(error))
    return render(request, "cabinet/keys.html", {"form": form, **_lists(request)})


def _create(request: AccountRequest, form: KeyForm) -> HttpResponse:
    label = form.cleaned_data["label"]
    new = services.key_create(request.user, label, form.expires_at)
    return new_key.show_once(request, new)


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
