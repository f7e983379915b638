"""Error pages that Django has no handler for."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

# The longest window of any rate limit, so that no limit applies after it.
RETRY_AFTER_SECONDS = 300


def too_many_requests(request: HttpRequest) -> HttpResponse:
    response = render(request, "429.html", status=HTTPStatus.TOO_MANY_REQUESTS)
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response
