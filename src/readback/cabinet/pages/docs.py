"""The documentation: docs/*.md as pages with a table of contents.

The wheel contains docs/ inside the package; a clone has it at its root. `README.md` is
the index, in the cabinet as in the repository. The lists of `findings` and `programs`,
each between two comments with its name, are rendered from a table in the reader's
language. The text between the comments is for readers of the repository.

The OpenAPI document gets the addresses of this installation; the file in docs/ has the
default ones. Tools that import it do not remember its address, so every link in it must
be absolute.
"""

import re
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import iri_to_uri
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, override
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe

from readback import config, keys, programs, setting_values
from readback.cabinet.keys import examples
from readback.contract import REFUSALS
from readback.probe.common.catalogue import Template, catalogue, people

if TYPE_CHECKING:
    from markdown_it.token import Token

_IN_PACKAGE = Path(__file__).parents[1] / "docs"
_IN_REPOSITORY = Path(__file__).parents[4] / "docs"
FOLDER = _IN_PACKAGE if _IN_PACKAGE.is_dir() else _IN_REPOSITORY

# The index of all pages, at /docs/.
INDEX = "README"
# Pages that were merged into another page, with their headings: browsers keep the
# fragment of the address on a redirect.
MOVED = {
    "branding": "settings",
    "hosting": INDEX,
    "logs": "monitoring",
    "scale": "performance",
}
# A longer table of contents shows only second-level headings.
_MAX_CONTENTS = 40
# Tables with more columns stay tables on a phone.
_MAX_STACKED = 4
# A placeholder, not a valid key.
YOUR_KEY = f"{keys.PREFIX}YOUR-KEY"
_IN_FILE = config.read({})
_PART = re.compile(
    r"(?<=\[//\]: # \((findings|programs): begin\)\n\n).*?(?=\n\[//\]: # \(\1: end\))",
    re.S,
)
_PLACE_OR_MARKUP = re.compile(r"(\{\w+\})|[\\`*_\[\]<>|#]")
SETTING = re.compile(rf"`({setting_values.VARIABLE_PREFIX}[A-Z_]+)`")


class DocHeading(NamedTuple):
    level: int
    anchor: str
    text: str


class DocPage(NamedTuple):
    title: str
    html: SafeString
    language: str
    contents: list[DocHeading]


def names() -> set[str]:
    return {path.stem for path in FOLDER.glob("*.md")} - {INDEX}


def source(name: str, language: str) -> tuple[str, str]:
    """Return a page's Markdown and its language: English if it is not translated."""
    if name == "errors":  # docs/errors.md is the English version
        return render_to_string("pages/errors.txt", {"refusals": REFUSALS}), language
    path = FOLDER / language / f"{name}.md"
    if not path.is_file():
        path = FOLDER / f"{name}.md"
        language = "en"
    return _fill_parts(path.read_text(encoding="utf-8"), language), language


def _fill_parts(page: str, language: str) -> str:
    """Return a page with its generated parts (programs, findings) filled in."""

    def part(found: re.Match[str]) -> str:
        rows = sorted(programs.table(), key=lambda row: row.name.lower())
        context = {"programs": rows, "topics": _findings(language)}
        with override(language):
            return render_to_string(f"pages/{found[1]}.txt", context)

    return _PART.sub(part, page)


def _findings(language: str) -> list[tuple[str, list[dict[str, object]]]]:
    """Return the findings by topic: the first word of their ids."""

    def shown(row: Template) -> dict[str, object]:
        # Written in Markdown, with dots where a report shows a value.
        sentence, hint = (
            _PLACE_OR_MARKUP.sub(lambda at: "*…*" if at[1] else f"\\{at[0]}", text)
            for text in row.texts[language]
        )
        fixer = people(row.fault, language)
        return {"row": row, "sentence": sentence, "hint": hint, "fixer": fixer}

    rows = catalogue().findings.values()
    topics = groupby(rows, key=lambda row: row.id.partition(".")[0])
    return [(topic, [*map(shown, rows)]) for topic, rows in topics]


def anchor(heading: str) -> str:
    """Return the id that GitHub and other code hosts give a heading with this text."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


@cache
def load(name: str, language: str) -> DocPage:
    text, language = source(name, language)
    # Importing the parser takes 0.03 s, which would delay every startup.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    title = tokens[1].content.replace("`", "")
    for token in tokens:
        # The images are screenshots of the cabinet, which its readers do not need.
        token.children = [c for c in token.children or [] if c.type != "image"]
        for child in token.children:
            if child.type == "link_open":
                child.attrSet("href", served_at(str(child.attrGet("href"))))
    headings = []
    for token, content in zip(tokens, tokens[1:], strict=False):
        if token.type == "heading_open":
            token.attrSet("id", anchor(content.content))
            text = content.content.replace("`", "")
            headings.append(DocHeading(int(token.tag[1]), anchor(text), text))
    _name_rows(tokens)
    _stack_on_a_phone(tokens)
    html = parser.renderer.render(tokens, parser.options, {}).replace("<p></p>\n", "")
    # Wide tables and long lines scroll in their own box, so that the page does not
    # scroll sideways; the keyboard must reach that box.
    html = html.replace("<pre>", '<pre tabindex="0">')
    html = re.sub("(?=<table)", '<div class="scroll" tabindex="0">', html)
    html = html.replace("</table>", "</table></div>")
    listed = [heading for heading in headings if heading.level in (2, 3)]
    if len(listed) > _MAX_CONTENTS:
        listed = [heading for heading in listed if heading.level == 2]
    contents = listed if len(listed) > 2 else []  # a short page needs none
    # Safe: rendered with HTML disabled, and without links that run scripts.
    return DocPage(title, mark_safe(html), language, contents)


def _name_rows(tokens: "list[Token]") -> None:
    """Give each setting's row an id, so that the search can link to it."""
    for row, _, content in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if row.type == "tr_open" and (setting := SETTING.fullmatch(content.content)):
            row.attrSet("id", anchor(setting[1]))


def _stack_on_a_phone(tokens: "list[Token]") -> None:
    """Let phones show each row as a list, so that all columns fit on the screen.

    A wider table has numbers to compare, so it scrolls instead.
    """
    table: Token | None = None
    names: list[str] = []
    column = 0
    for token, content in zip(tokens, tokens[1:], strict=False):
        if token.type == "table_open":
            table = token
            names = []
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


def served_at(link: str, *, markdown: bool = False) -> str:
    """Return the path at which the link's target is served if it is another file in
    docs/; otherwise return the link unchanged.
    """
    if link.endswith("openapi.yaml"):
        return reverse("openapi")
    if link.endswith(".schema.json"):
        return reverse("report_schema")
    found = re.fullmatch(r"(?:\.\./)?([\w-]+)\.md(#.*)?", link)
    return path_of(found[1], markdown=markdown) + (found[2] or "") if found else link


def path_of(name: str, *, markdown: bool = False) -> str:
    if markdown:
        return reverse("docs_markdown", args=[name])
    return reverse("docs") if name == INDEX else reverse("docs_page", args=[name])


@require_safe
def docs_page(request: HttpRequest, name: str) -> HttpResponse:
    if name in MOVED:
        return redirect(path_of(MOVED[name]), permanent=True)
    if name not in names():
        raise Http404
    context = {
        "document": load(name, reader_language()),
        "snippets": snippets(name),
    }
    response = render(request, "pages/document.html", context)
    name_alternate(response, path_of(name, markdown=True), "text/markdown")
    return cached(request, response)


def snippets(name: str) -> list[examples.Snippet]:
    """Return the programs shown at the end of the page."""
    base_url = settings.CONFIG.base_url
    return examples.filled(base_url, YOUR_KEY) if name == "programs" else []


def name_alternate(response: HttpResponse, path: str, media_type: str) -> None:
    """Add a Link header for the same page in another format (RFC 8288)."""
    link = f'<{settings.CABINET_URL}{path}>; rel="alternate"; type="{media_type}"'
    response["Link"] = link


def cached(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Let caches keep pages for visitors without cookies, who all get the same page."""
    if not request.COOKIES:
        response["Cache-Control"] = "public, max-age=60"
    return response


@require_safe
def report_schema(request: HttpRequest) -> HttpResponse:
    """Return the JSON schema of probe reports; the documentation links to it."""
    schema = (FOLDER / "probe-report.schema.json").read_bytes()
    return HttpResponse(schema, "application/schema+json")


def reader_language() -> str:
    return get_language() or "en"


# Caches must revalidate it each time, because the addresses in it may change.
@require_safe
@cache_control(no_cache=True)
@conditional_page
def openapi(request: HttpRequest) -> HttpResponse:
    own = {
        _IN_FILE.base_url: settings.CONFIG.base_url,
        _IN_FILE.effective_cabinet_url: settings.CABINET_URL,
    }
    # A URI contains no quote, backslash or line break, so it cannot break the YAML.
    # One pass replaces all addresses, because a new one may contain an old one.
    addresses = "|".join(map(re.escape, own))
    text = (FOLDER / "openapi.yaml").read_text(encoding="utf-8")
    text = re.sub(addresses, lambda found: iri_to_uri(own[found[0]]), text)
    response = HttpResponse(text, "application/yaml")  # RFC 9512; always UTF-8
    # It is public, so browser-based tools on any site may import it.
    response["Access-Control-Allow-Origin"] = "*"
    return response
