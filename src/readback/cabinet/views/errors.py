"""Error pages that Django has no handler for."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

# The longest window of any limit on attempts, so that none applies after it.
RETRY_AFTER_SECONDS = 300
# The shorter window of the limits on mails; the longer one is a day.
MAIL_RETRY_AFTER_SECONDS = 3600


def too_many_requests(request: HttpRequest) -> HttpResponse:
    return _limited(request, "429.html", RETRY_AFTER_SECONDS)


def too_many_mails(request: HttpRequest) -> HttpResponse:
    return _limited(request, "account/too_many_mails.html", MAIL_RETRY_AFTER_SECONDS)


def _limited(request: HttpRequest, template: str, seconds: int) -> HttpResponse:
    response = render(request, template, status=HTTPStatus.TOO_MANY_REQUESTS)
    response["Retry-After"] = str(seconds)
    return response
