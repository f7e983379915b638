"""The documentation pages; "How to connect" ends with programs to copy."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from readback import keys
from readback.cabinet.keys import snippets
from readback.cabinet.pages import documents

# A placeholder, not a valid key.
_YOUR_KEY = f"{keys.PREFIX}YOUR-KEY"


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    context = {
        "nav": "docs",
        "for_clients": _load_all(documents.FOR_CLIENTS),
        "for_operators": _load_all(documents.FOR_OPERATORS),
        "for_engineers": _load_all(documents.FOR_ENGINEERS),
    }
    return render(request, "cabinet/docs.html", context)


@require_safe
def page(request: HttpRequest, name: str) -> HttpResponse:
    if name not in documents.names():
        raise Http404
    base_url = settings.CONFIG.base_url
    context = {
        "nav": "docs",
        "document": documents.load(name, _language()),
        "snippets": snippets.filled(base_url, _YOUR_KEY) if name == "connect" else [],
    }
    return render(request, "cabinet/document.html", context)


@require_safe
def report_schema(request: HttpRequest) -> HttpResponse:
    """Return the schema of the probe's report, to which its page links."""
    schema = (documents.FOLDER / "probe-report.schema.json").read_bytes()
    return HttpResponse(schema, "application/schema+json")


def _load_all(order: tuple[str, ...]) -> list[documents.DocPage]:
    existing = documents.names()
    return [documents.load(name, _language()) for name in order if name in existing]


def _language() -> str:
    return get_language() or "en"
