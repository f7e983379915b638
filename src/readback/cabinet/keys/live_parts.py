"""Live parts of a page: fragments that the browser requests again and again.

A poll names the version that the browser has, and gets 204 if there is no newer one.
"""

from collections.abc import Callable
from hashlib import blake2s
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language


def respond(
    request: HttpRequest, template: str, read: Callable[[], dict[str, Any]]
) -> HttpResponse:
    """Return the part that `read` reads, or 204 if the browser has this version."""
    context = read()
    if request.GET.get("seen") == context["version"]:
        return HttpResponse(status=204)
    response = render(request, template, context)
    response["X-Version"] = context["version"]
    return response


def version_of(*content: object) -> str:
    """Return a short hash that changes when the content of a part changes."""
    shown = repr((get_language(), content)).encode()
    return blake2s(shown, digest_size=8).hexdigest()
