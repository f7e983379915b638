"""Whether and how a person who uses single sign-on has to log in again.

allauth asks for a password or a second factor before sensitive changes, and lets people
through who have neither. Here they log in again: with the provider, if they use it.
"""

import time
from typing import Any
from urllib.parse import urlencode

from allauth.account import app_settings
from allauth.account.authentication import get_authentication_records
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from readback.cabinet.account_rules import provider_is_only_way, provider_name
from readback.cabinet.accounts import selectors
from readback.cabinet.serving.allauth_internals import (
    get_reauthentication_flows,
    record_authentication,
    resume_request,
)

_METHOD = "socialaccount"


def used_provider(request: HttpRequest, user: Any) -> bool:
    """Return whether this session's login was with the provider."""
    records = get_authentication_records(request, user)
    return any(record["method"] == _METHOD for record in records)


def must_log_in_again(request: HttpRequest) -> bool:
    """Return whether only a login can prove who this is, and none has lately.

    allauth itself asks only people who have a password or a second factor.
    """
    user = request.user
    if not user.is_authenticated or get_reauthentication_flows(user):
        return False
    ages = [
        time.time() - record["at"]
        for record in get_authentication_records(request, user)
        if record.get("reauthenticated")
    ]
    timeout: int = app_settings.REAUTHENTICATION_TIMEOUT
    return min(ages, default=timeout + 1) > timeout


def reauthentication_methods(
    user: Any, methods: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return allauth's methods with the provider; without the password if need be."""
    if provider_is_only_way():
        methods = [each for each in methods if each["id"] != "reauthenticate"]
    is_offered = provider_name() and user.is_authenticated
    if not is_offered or not selectors.account_is_connected(user):
        return methods
    again = {
        "id": "single_sign_on",
        "description": _("Log in with %(name)s") % {"name": provider_name()},
        "url": reverse("single_sign_on_again"),
    }
    return [again, *methods] if provider_is_only_way() else [*methods, again]


def accept(request: HttpRequest, uid: str, next_url: str | None) -> HttpResponse:
    """Record that the person has logged in again, and continue where they were."""
    record_authentication(
        request,
        request.user,  # type: ignore[arg-type]
        _METHOD,
        reauthenticated=True,
        uid=uid,
    )
    # It resumes a form that was sent before the question, if it was this page's.
    request.GET = QueryDict(urlencode({"next": next_url or ""}))
    response: HttpResponse | None = resume_request(request)
    return response or redirect("keys")
