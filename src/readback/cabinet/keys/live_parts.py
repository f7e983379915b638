"""The parts of pages that the browser polls."""

from hashlib import blake2s
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language


def live_part(
    request: HttpRequest, template: str, context: dict[str, Any]
) -> HttpResponse:
    """Return a part of a page for a poll; 204 if the browser has this version."""
    if request.GET.get("seen") == context["version"]:
        return HttpResponse(status=204)
    response = render(request, template, context)
    response["X-Version"] = context["version"]
    return response


def version_of(*content: object) -> str:
    """Return a short hash that changes when the content of a part changes."""
    shown = repr((get_language(), content)).encode()
    return blake2s(shown, digest_size=8).hexdigest()
