"""Parts of a page that stay current: the same template, asked for again."""

from hashlib import blake2s
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString


class Part(NamedTuple):
    html: SafeString
    version: str


def render_part(request: HttpRequest, template: str, context: dict[str, Any]) -> Part:
    html = render_to_string(template, context, request)
    return Part(html, blake2s(html.encode(), digest_size=8).hexdigest())


def answer(request: HttpRequest, part: Part) -> HttpResponse:
    """Answer with the part, or with nothing when the browser has this version."""
    if request.GET.get("seen") == part.version:
        return HttpResponse(status=204)
    return HttpResponse(part.html, headers={"X-Version": part.version})
