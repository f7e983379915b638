"""The pages of a login with the provider that did not succeed."""

import logging
from http import HTTPStatus
from typing import NamedTuple

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from readback.cabinet.single_sign_on.services import LoginRefusal

_log = logging.getLogger("readback.cabinet.views.single_sign_on_errors")


class _Explanation(NamedTuple):
    heading: str | Promise
    what_happened: str | Promise
    what_to_do: str | Promise


_EXPLANATIONS = {
    LoginRefusal.UNVERIFIED: _Explanation(
        gettext_lazy("Your e-mail address is not verified"),
        gettext_lazy(
            "{name} did not tell us an e-mail address of yours that it has verified, "
            "so no account was created or changed."
        ),
        gettext_lazy(
            "Verify your e-mail address in your profile at {name}, then log in again. "
            "If it is verified there, ask its administrator to send the claims email "
            "and email_verified, the latter with the JSON value true."
        ),
    ),
    LoginRefusal.CLOSED: _Explanation(
        gettext_lazy("You have no account here"),
        gettext_lazy(
            "There is no account with your e-mail address, and new accounts cannot be "
            "created with it."
        ),
        gettext_lazy("Ask the operator of this service to invite you."),
    ),
    LoginRefusal.UNCONFIRMED: _Explanation(
        gettext_lazy("The address of your account is not confirmed"),
        gettext_lazy(
            "There is an account with your e-mail address, but nobody has confirmed "
            "that the address belongs to the account. It was not connected with {name}."
        ),
        gettext_lazy(
            "Log in to the account with its password to confirm the address, or ask "
            "the operator of this service to confirm it. Then log in with {name}."
        ),
    ),
    LoginRefusal.INACTIVE: _Explanation(
        gettext_lazy("This account is deactivated"),
        gettext_lazy(
            "The operator of this service has deactivated it, so its keys do not work."
        ),
        gettext_lazy("If you think this is a mistake, contact the operator."),
    ),
    LoginRefusal.CONNECTED: _Explanation(
        gettext_lazy("The account with your address belongs to somebody else"),
        gettext_lazy(
            "There is an account with your e-mail address, but {name} knows its owner "
            "as another person. You are not logged in, and nothing was changed."
        ),
        gettext_lazy(
            "Tell the operator of this service. If the account is yours, because your "
            "profile at {name} was created again, the operator can disconnect it and "
            "you log in once more. If it belonged to somebody who had the address "
            "before you, the operator can delete it."
        ),
    ),
    LoginRefusal.OTHER_PERSON: _Explanation(
        gettext_lazy("That is another person"),
        gettext_lazy("You logged in at {name} with an account that is not this one's."),
        gettext_lazy(
            "Go back and log in at {name} as the person whose account this is."
        ),
    ),
}
_FAILED = _Explanation(
    gettext_lazy("The login did not work"),
    gettext_lazy(
        "{name} did not answer, or did not answer as expected. Nothing was changed."
    ),
    gettext_lazy(
        "Try again in a minute. If it fails again, tell the operator of this service: "
        "the reason is in the server's log."
    ),
)


def refused(request: HttpRequest, refusal: LoginRefusal) -> HttpResponse:
    return _page(request, _EXPLANATIONS[refusal], HTTPStatus.FORBIDDEN)


def failed(request: HttpRequest, reason: str) -> HttpResponse:
    """Log the reason for the operator, and show that the provider failed."""
    _log.warning("A login with the OpenID Connect provider failed: %s", reason)
    return _page(request, _FAILED, HTTPStatus.BAD_GATEWAY)


def cancelled(request: HttpRequest) -> HttpResponse:
    messages.info(request, _("You cancelled the login. Nothing was changed."))
    return redirect("account_login")


def started_elsewhere(request: HttpRequest) -> HttpResponse:
    """Answer a response that this browser is not waiting for, or no longer."""
    messages.error(
        request,
        _(
            "This login took too long, was already used, or began in another browser. "
            "Log in again."
        ),
    )
    return redirect("account_login")


def _page(
    request: HttpRequest, explanation: _Explanation, status: HTTPStatus
) -> HttpResponse:
    name = settings.CONFIG.oidc_name
    context = {
        field: format_lazy(text, name=name)
        for field, text in explanation._asdict().items()
    }
    return render(request, "single_sign_on/failed.html", context, status=status)
