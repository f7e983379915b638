"""The documentation: docs/*.md as pages with a list of contents, and their search.

The wheel contains docs/ inside the package; a clone has it at its root. `README.md` is
the index, in the cabinet as in the repository.

The OpenAPI document gets the addresses of this installation; the file in docs/ has the
default ones. Tools that import it do not remember where they got it, so every link in
it must be absolute.

What the search finds is a section of a page, so that a setting, an error code or a
finding of the probe leads to the place that explains it. Each row of the page of
symptoms is a section of its own, which leads to where its link does, and so is each
setting.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import iri_to_uri
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe

from readback import config, keys, setting_values
from readback.cabinet.keys import snippets
from readback.contract import REFUSALS

if TYPE_CHECKING:
    from markdown_it.token import Token

_IN_PACKAGE = Path(__file__).parents[1] / "docs"
_IN_REPOSITORY = Path(__file__).parents[4] / "docs"
FOLDER = _IN_PACKAGE if _IN_PACKAGE.is_dir() else _IN_REPOSITORY

# The page of all pages: /docs/ itself.
INDEX = "README"
# A longer list of contents shows only the headings of the second level.
_MAX_CONTENTS = 40
# Tables with more columns stay tables on a phone.
_MAX_STACKED = 4
# A placeholder, not a valid key.
_YOUR_KEY = f"{keys.PREFIX}YOUR-KEY"
_IN_FILE = config.read({})
_MAX_QUERY, _MAX_WORDS, _MAX_FOUND = 200, 8, 25
_SYMPTOMS = "symptoms"
# A line that continues the one before; it begins no row, list item or quotation.
_WRAPPED = re.compile(r" *(?![|>]|[-*] |\d+\. )\S")
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-ZА-ЯЁ])")
_ROW = re.compile(r"\| (.+?) \| (.+?) \| .*?\]\((?:\.\./)?([a-z-]+)\.md(#[\w-]+)?\)")
_MESSAGE = re.compile(r"`([^`]+)`")
_SETTING = re.compile(rf"`({setting_values.VARIABLE_PREFIX}[A-Z_]+)`")
_SETTING_ROW = re.compile(rf"^\| {_SETTING.pattern} \| .+? \| (.+) \|$", re.M)


class DocHeading(NamedTuple):
    level: int
    anchor: str
    text: str


class DocPage(NamedTuple):
    name: str
    title: str
    html: SafeString
    language: str
    contents: list[DocHeading]


def names() -> set[str]:
    return {path.stem for path in FOLDER.glob("*.md")} - {INDEX}


def source(name: str, language: str) -> tuple[str, str]:
    """Return a page's Markdown and its language: English if it is not translated."""
    if name == "errors":  # docs/errors.md is its English version
        return render_to_string("pages/errors.txt", {"refusals": REFUSALS}), language
    translated = FOLDER / language / f"{name}.md"
    if translated.is_file():
        return translated.read_text(encoding="utf-8"), language
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8"), "en"


def anchor(heading: str) -> str:
    """Return the id of a heading, as code hosts derive it from the text."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


@cache
def load(name: str, language: str) -> DocPage:
    return render_markdown(name, *source(name, language))


def render_markdown(name: str, text: str, language: str) -> DocPage:
    # Importing it takes 0.03 s, for which no start should wait.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    title = tokens[1].content.replace("`", "")
    for token in tokens:
        # Images only show pages of the cabinet.
        children = [child for child in token.children or [] if child.type != "image"]
        token.children = [_link_to_page(child) for child in children]
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
    listed = [one for one in headings if one.level in (2, 3)]
    if len(listed) > _MAX_CONTENTS:
        listed = [one for one in listed if one.level == 2]
    contents = listed if len(listed) > 2 else []  # a short page needs none
    # Safe: rendered with HTML disabled, and without links that run scripts.
    return DocPage(name, title, mark_safe(html), language, contents)


def _name_rows(tokens: "list[Token]") -> None:
    """Give the row of a setting an id, to which the search leads."""
    for row, _, content in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if row.type == "tr_open" and (setting := _SETTING.fullmatch(content.content)):
            row.attrSet("id", anchor(setting[1]))


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
    """Point a link to another file of docs/ at the address where it is served."""
    href = str(token.attrGet("href"))
    if href.endswith("openapi.yaml"):
        token.attrSet("href", reverse("openapi"))
    elif match := re.fullmatch(r"(?:\.\./)?([a-z-]+)\.md(#.*)?", href):
        token.attrSet("href", reverse("docs_page", args=[match[1]]) + (match[2] or ""))
    return token


@require_safe
def docs_page(request: HttpRequest, name: str) -> HttpResponse:
    if name not in names():
        raise Http404
    base_url = settings.CONFIG.base_url
    context = {
        "document": load(name, reader_language()),
        "snippets": snippets.filled(base_url, _YOUR_KEY) if name == "connect" else [],
    }
    return _cached(request, render(request, "pages/document.html", context))


def _cached(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Let caches keep a page for visitors without cookies: all of them see the same."""
    if not request.COOKIES:
        response["Cache-Control"] = "public, max-age=60"
    return response


@require_safe
def report_schema(request: HttpRequest) -> HttpResponse:
    """Return the schema of the probe's report, to which its page links."""
    schema = (FOLDER / "probe-report.schema.json").read_bytes()
    return HttpResponse(schema, "application/schema+json")


def reader_language() -> str:
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


class DocSection(NamedTuple):
    page: str
    title: str
    heading: str
    anchor: str
    lines: tuple[str, ...]
    messages: re.Pattern[str] | None = None


class SearchHit(NamedTuple):
    """A section with the line that answers best."""

    section: DocSection
    line: str
    url: str


@require_safe
def docs_index(request: HttpRequest) -> HttpResponse:
    language = reader_language()
    query = request.GET.get("q", "").strip()[:_MAX_QUERY]
    context = {
        "document": load(INDEX, language),
        "query": query,
        "found": search(query, language) if query else [],
    }
    return _cached(request, render(request, "pages/docs.html", context))


def search(query: str, language: str) -> list[SearchHit]:
    """Return the sections that contain every word, those with the best heading first.

    A word may be the beginning or the middle of another one. Words that stand together
    in one line, as in a pasted error message, count more than scattered ones. A symptom
    is also found if the query contains a message that it quotes, whatever else was
    pasted: the name of an exception, an address, a number.
    """
    phrase = " ".join(query.casefold().split())
    words = phrase.split()[:_MAX_WORDS]
    whole = re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)")
    found: list[tuple[int, SearchHit]] = []
    for section in _sections(language):
        heading = section.heading.casefold()
        name = f"{section.title} {section.heading}".casefold()
        lines = [line.casefold() for line in section.lines]
        text = "\n".join([name, *lines])
        is_quoted = bool(section.messages and section.messages.search(phrase))
        if not is_quoted and not all(word in text for word in words):
            continue
        counts = [sum(word in line for word in words) for line in lines]
        best = max(range(len(lines)), key=counts.__getitem__, default=None)
        score = (
            8 * (phrase == heading)
            + 4 * (phrase in heading)
            + 2 * all(word in name for word in words)
            + 2 * any(phrase in line for line in lines)
            + any(whole.search(line) for line in lines)
            + 6 * is_quoted
        )
        line = "" if best is None else section.lines[best]
        url = reverse("docs_page", args=[section.page]) + section.anchor
        found.append((score, SearchHit(section, line, url)))
    found.sort(key=lambda each: -each[0])
    return [each for _, each in found[:_MAX_FOUND]]


@cache
def _sections(language: str) -> tuple[DocSection, ...]:
    order = re.findall(r"\(([a-z-]+)\.md", source(INDEX, language)[0])
    known = names()
    pages = dict.fromkeys([*(name for name in order if name in known), *sorted(known)])
    return tuple(section for name in pages for section in _of_page(name, language))


def _of_page(name: str, language: str) -> Iterator[DocSection]:
    text = source(name, language)[0]
    title = _title(text)
    if name == _SYMPTOMS:
        for symptom, meaning, page, place in _ROW.findall(text):
            title = _title(source(page, language)[0])
            found = (page, title, _plain(symptom), place, (_plain(meaning),))
            yield DocSection(*found, _any_of_messages(symptom))
        return
    for setting, meaning in _SETTING_ROW.findall(text):
        place = f"#{anchor(setting)}"
        yield DocSection(name, title, setting, place, (_plain(meaning),))
    heading, in_code, is_open = title, False, False
    lines: list[str] = []
    for line in _SETTING_ROW.sub("", text).splitlines():
        if line.lstrip().startswith("```"):
            in_code, is_open = not in_code, False
        elif not in_code and (match := re.match(r"#{1,4} (.+)", line)):
            if lines:
                yield _section(name, title, heading, lines)
            heading, lines, is_open = match[1], [], False
        elif is_open and _WRAPPED.match(line):
            lines[-1] += f" {line.strip()}"
            is_open = not line.endswith("\\")
        elif is_open := bool(re.search(r"\w", line)) and not line.startswith("[//]"):
            lines.append(line)
            is_open = not in_code and not re.search(r"^\||\\$", line)
    yield _section(name, title, heading, lines)


def _any_of_messages(symptom: str) -> re.Pattern[str] | None:
    """Return what finds one of the quoted messages in a query, as whole words."""
    messages = [re.escape(each.casefold()) for each in _MESSAGE.findall(symptom)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(messages)})(?!\w)") if messages else None


def _title(text: str) -> str:
    return _plain(text.partition("\n")[0])


def _section(page: str, title: str, heading: str, lines: list[str]) -> DocSection:
    place = "" if heading == title else f"#{anchor(heading)}"
    sentences = [each for line in lines for each in _SENTENCES.split(_plain(line))]
    return DocSection(page, title, _plain(heading), place, tuple(sentences))


def _plain(line: str) -> str:
    """Return a line without the marks of Markdown."""
    line = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", line.strip("| "))
    return re.sub(r"[`*]|^[-#>]+ ?|\\(?=[\W_]|$)", "", line).replace(" | ", " · ")
