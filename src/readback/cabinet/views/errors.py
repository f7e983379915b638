"""Answers to requests that never reach their page, beside Django's own handlers."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

# The longest window of any limit: after it, every one of them has room again.
RETRY_AFTER_SECONDS = 300


def too_many_requests(request: HttpRequest) -> HttpResponse:
    answer = render(request, "429.html", status=HTTPStatus.TOO_MANY_REQUESTS)
    answer["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return answer
