"""Parts of a page that stay current: the same template, asked for again."""

from hashlib import blake2s
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language


def version_of(*facts: object) -> str:
    """Give a short name for what a part shows; other facts, another name."""
    return blake2s(repr((get_language(), facts)).encode(), digest_size=8).hexdigest()


def answer(
    request: HttpRequest, template: str, context: dict[str, Any]
) -> HttpResponse:
    """Answer with the part, or with nothing when the browser has this version."""
    if request.GET.get("seen") == context["version"]:
        return HttpResponse(status=204)
    answer = render(request, template, context)
    answer["X-Version"] = context["version"]
    return answer
