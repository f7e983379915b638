"""The documentation pages: docs/*.md, ordered and rendered as HTML.

The wheel contains docs/ inside the package; a clone has it at its root.

The OpenAPI document gets the addresses of this installation; the file in docs/ has the
default ones. Tools that import it do not remember where they got it, so every link in
it must be absolute.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.encoding import iri_to_uri
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe

from readback import config, keys
from readback.cabinet.keys import snippets
from readback.cabinet.pages import errors_page

if TYPE_CHECKING:
    from markdown_it.token import Token

_IN_PACKAGE = Path(__file__).parents[1] / "docs"
_IN_REPOSITORY = Path(__file__).parents[4] / "docs"
FOLDER = _IN_PACKAGE if _IN_PACKAGE.is_dir() else _IN_REPOSITORY

# The audience of each page, in the order of the index.
FOR_CLIENTS = (
    "connect",
    "programs",
    "testing",
    "clients",
    "contract",
    "errors",
    "probe",
    "probe-input",
    "probe-connection",
    "probe-service",
    "cabinet",
    "cli",
)
FOR_OPERATORS = (
    "deploy",
    "operations",
    "settings",
    "accounts",
    "reliability",
    "performance",
    "scale",
)
FOR_ENGINEERS = ("architecture", "decisions")

# Tables with more columns stay tables on a phone.
_MAX_STACKED = 4
# A placeholder, not a valid key.
_YOUR_KEY = f"{keys.PREFIX}YOUR-KEY"
_IN_FILE = config.read({})


class DocPage(NamedTuple):
    name: str
    title: str
    html: SafeString
    language: str


def names() -> set[str]:
    return {path.stem for path in FOLDER.glob("*.md")}


def load(name: str, language: str) -> DocPage:
    """Return a page in the given language, or in English if it is not translated."""
    if name == "errors":
        return _render(name, errors_page.markdown(), language)
    translated = FOLDER / language / f"{name}.md"
    if translated.is_file():
        return _read(name, translated, language)
    return _read(name, FOLDER / f"{name}.md", "en")


@cache
def _read(name: str, path: Path, language: str) -> DocPage:
    return _render(name, path.read_text(encoding="utf-8"), language)


def _render(name: str, text: str, language: str) -> DocPage:
    # Importing it takes 0.03 s, for which no start should wait.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    title = tokens[1].content.replace("`", "")
    for token in tokens:
        # Images only show pages of the cabinet.
        children = [child for child in token.children or [] if child.type != "image"]
        token.children = [_link_to_page(child) for child in children]
    for token, content in zip(tokens, tokens[1:], strict=False):
        if token.type == "heading_open":  # its id as code hosts derive it from the text
            words = re.sub(r"[^\w\- ]", "", content.content.lower())
            token.attrSet("id", words.strip().replace(" ", "-"))
    _stack_on_a_phone(tokens)
    html = parser.renderer.render(tokens, parser.options, {}).replace("<p></p>\n", "")
    # Wide tables and long lines scroll in their own box, so that the page does not
    # scroll sideways; the keyboard must reach that box.
    html = html.replace("<pre>", '<pre tabindex="0">')
    html = re.sub("(?=<table)", '<div class="scroll" tabindex="0">', html)
    html = html.replace("</table>", "</table></div>")
    # Safe: the Markdown is ours and is rendered with HTML disabled.
    return DocPage(name, title, mark_safe(html), language)


def _stack_on_a_phone(tokens: "list[Token]") -> None:
    """Let a phone show each row as a list, so that no column is beside the screen.

    A wider table has numbers to compare, and scrolls.
    """
    table: Token | None = None
    names: list[str] = []
    column = 0
    for token, content in zip(tokens, tokens[1:], strict=False):
        if token.type == "table_open":
            table, names = token, []
        elif token.type == "th_open":
            names.append(content.content.replace("`", ""))
        elif token.type == "tbody_open" and table and len(names) <= _MAX_STACKED:
            table.attrSet("class", "stack")
        elif token.type == "tr_open":
            column = 0
        elif token.type == "td_open":
            # The first cell is the title of the row, and the last one its text.
            if len(names) < _MAX_STACKED and 0 < column < len(names) - 1:
                token.attrSet("data-name", names[column])
            column += 1


def _link_to_page(token: "Token") -> "Token":
    """Point a link to another Markdown file at the page of that file."""
    href = token.attrGet("href")
    if isinstance(href, str) and (match := re.fullmatch(r"([a-z-]+)\.md(#.*)?", href)):
        token.attrSet("href", reverse("docs_page", args=[match[1]]) + (match[2] or ""))
    return token


@require_safe
def docs_index(request: HttpRequest) -> HttpResponse:
    context = {
        "nav": "docs",
        "for_clients": _load_all(FOR_CLIENTS),
        "for_operators": _load_all(FOR_OPERATORS),
        "for_engineers": _load_all(FOR_ENGINEERS),
    }
    return render(request, "pages/docs.html", context)


@require_safe
def docs_page(request: HttpRequest, name: str) -> HttpResponse:
    if name not in names():
        raise Http404
    base_url = settings.CONFIG.base_url
    context = {
        "nav": "docs",
        "document": load(name, _language()),
        "snippets": snippets.filled(base_url, _YOUR_KEY) if name == "connect" else [],
    }
    return render(request, "pages/document.html", context)


@require_safe
def report_schema(request: HttpRequest) -> HttpResponse:
    """Return the schema of the probe's report, to which its page links."""
    schema = (FOLDER / "probe-report.schema.json").read_bytes()
    return HttpResponse(schema, "application/schema+json")


def _load_all(order: tuple[str, ...]) -> list[DocPage]:
    existing = names()
    return [load(name, _language()) for name in order if name in existing]


def _language() -> str:
    return get_language() or "en"


# Caches ask each time whether it is still the same, because the address may change.
@require_safe
@cache_control(no_cache=True)
@conditional_page
def openapi(request: HttpRequest) -> HttpResponse:
    own = {
        _IN_FILE.base_url: settings.CONFIG.base_url,
        _IN_FILE.effective_cabinet_url: settings.CABINET_URL,
    }
    # A URI contains no quote, backslash or line break, so it cannot break the YAML.
    # One pass, because an address may contain one of those that are replaced.
    addresses = "|".join(map(re.escape, own))
    text = (FOLDER / "openapi.yaml").read_text(encoding="utf-8")
    text = re.sub(addresses, lambda found: iri_to_uri(own[found[0]]), text)
    response = HttpResponse(text, "application/yaml")  # RFC 9512; always UTF-8
    # It is public, so browser-based tools of any site may import it.
    response["Access-Control-Allow-Origin"] = "*"
    return response
