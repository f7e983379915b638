"""The pages that have no purpose if single sign-on is the only way to log in."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve

# The pages that have no purpose if single sign-on is the only way to log in.
_PASSWORD_PAGES = {
    "account_signup",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key",
    "account_reset_password_from_key_done",
    "account_change_password",
    "account_set_password",
}
# These ask for a password beside something else.
_PASSWORD_FORMS = {"account_login", "account_reauthenticate"}


def _page_at(path: str) -> str:
    try:
        return resolve(path).view_name
    except Resolver404:
        return ""


def no_passwords(request: HttpRequest) -> HttpResponse:
    """Say that single sign-on is the only way to log in."""
    return render(request, "accounts/no_passwords.html", status=HTTPStatus.FORBIDDEN)


def needs_password(request: HttpRequest) -> bool:
    """Return whether a request has no purpose without a password or a passkey."""
    name = _page_at(request.path_info)
    is_form = name in _PASSWORD_FORMS and request.method == "POST"
    return is_form or name in _PASSWORD_PAGES
