"""Live parts of a page: fragments that the browser requests repeatedly."""

from hashlib import blake2s
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language


def version_of(*content: object) -> str:
    """Return a short hash that changes when the content of a part changes."""
    return blake2s(repr((get_language(), content)).encode(), digest_size=8).hexdigest()


def respond(
    request: HttpRequest, template: str, context: dict[str, Any]
) -> HttpResponse:
    """Return the part, or 204 if the browser already has this version."""
    if request.GET.get("seen") == context["version"]:
        return HttpResponse(status=204)
    response = render(request, template, context)
    response["X-Version"] = context["version"]
    return response
