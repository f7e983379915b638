"""Error pages that Django has no handler for, or not the right one."""

import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views import defaults

from readback.cabinet import storage

# The longest window of any rate limit, so that no limit applies after it.
RETRY_AFTER_SECONDS = 300
OUTAGE_RETRY_AFTER_SECONDS = 60


def too_many_requests(request: HttpRequest) -> HttpResponse:
    response = render(request, "429.html", status=HTTPStatus.TOO_MANY_REQUESTS)
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 if the database cannot be used, and otherwise 500.

    Django calls this while it handles the exception, wherever that was raised: in a
    view, or in a middleware that saves the session.
    """
    error = sys.exception()
    if error is None or not storage.is_outage(error):
        return defaults.server_error(request)
    storage.log_outage(error)
    # Without the request: its session and its user are in the database.
    page = render_to_string("503.html")
    response = HttpResponse(page, status=HTTPStatus.SERVICE_UNAVAILABLE)
    response["Retry-After"] = str(OUTAGE_RETRY_AFTER_SECONDS)
    return response
