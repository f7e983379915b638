"""Our handlers for errors 400, 429, 500 and 503.

A full disk, a lock that is never released and an unreachable database server are
neither bugs nor the visitor's fault, so they are answered with 503.
"""

import logging
import sys
import time
from http import HTTPStatus

from django.conf import settings
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string

_log = logging.getLogger("readback.cabinet.errors")
# The windows of the limits on wrong passwords and codes, and on e-mails, apart from the
# daily limits.
LOGIN_MINUTES = 5
MAIL_MINUTES = 60
# An outage is logged at most this often, however many requests fail.
_LOG_SECONDS = 60.0

_logged_at = float("-inf")


def too_many_requests(request: HttpRequest, minutes: int = 1) -> HttpResponse:
    """Say when to try again; allauth, whose limits are per minute, gives no time."""
    context = {"minutes": minutes, "hours": minutes // 60}
    response = render(request, "429.html", context, status=429)
    response["Retry-After"] = str(minutes * 60)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Redirect to the login if the session ended while a page was being rendered."""
    if isinstance(exception, SessionInterrupted):
        return redirect("account_login")
    return _standalone("400.html", HTTPStatus.BAD_REQUEST)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 if the database cannot be used, and otherwise 500; log the reason.

    Django calls this while it handles the exception, wherever that was raised: in a
    view, or in a middleware that saves the session.
    """
    global _logged_at
    error = sys.exception()
    # SQLite also reports invalid statements as operational errors.
    name = getattr(error and error.__cause__, "sqlite_errorname", "")
    if not isinstance(error, OperationalError) or name == "SQLITE_ERROR":
        match = getattr(request, "resolver_match", None)
        page = match.route if match else "an unknown page"
        _log.error("Internal Server Error: %s", page, exc_info=error)
        return _standalone("500.html", HTTPStatus.INTERNAL_SERVER_ERROR)
    if time.monotonic() - _logged_at > _LOG_SECONDS:
        _logged_at = time.monotonic()
        _log.error("The cabinet cannot use the database: %s", reason(error))
    response = _standalone("503.html", HTTPStatus.SERVICE_UNAVAILABLE)
    response["Retry-After"] = "60"
    return response


def reason(error: BaseException) -> str:
    """Return why the database cannot be used."""
    # PostgreSQL's messages may quote values; codes and the driver's messages do not.
    state = getattr(error.__cause__, "sqlstate", None)
    words = " ".join(str(error).split())
    return f"{type(error.__cause__).__name__} ({state})" if state else words


def _standalone(template: str, status: HTTPStatus) -> HttpResponse:
    """Render without the request, whose session and user are in the database."""
    context = {"brand": settings.BRAND, "site_name": settings.BRAND.name}
    return HttpResponse(render_to_string(template, context), status=status)
