"""Live parts of a page: fragments that the browser requests repeatedly."""

from collections.abc import Callable
from hashlib import blake2s
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language

from readback.cabinet.keys import live_parts


def version_of(*content: object) -> str:
    """Return a short hash that changes when the content of a part changes."""
    digest = blake2s(
        repr((get_language(), content)).encode(),
        digest_size=live_parts.VERSION_LENGTH // 2,
    )
    return digest.hexdigest()


def respond(
    request: HttpRequest, template: str, read: Callable[[], dict[str, Any]]
) -> HttpResponse:
    """Return the part that `read` reads, or 204 if the browser has this version."""
    proof = live_parts.proof_now(request)
    context = read()
    version = context["version"]
    if request.GET.get("seen", "").startswith(version):
        response = HttpResponse(status=204)
    else:
        response = render(request, template, context)
    response["X-Version"] = version + proof
    return response
