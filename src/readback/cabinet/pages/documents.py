"""The documentation pages: docs/*.md, ordered and rendered as HTML.

The wheel contains docs/ inside the package; a clone has it at its root. The list of
errors is generated from the contract, so it exists in every language.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

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
    title = _title(tokens)
    for token in tokens:
        token.children = [_link_to_page(child) for child in _without_images(token)]
    _add_heading_ids(tokens)
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


def _title(tokens: "list[Token]") -> str:
    return tokens[1].content.replace("`", "")


def _without_images(token: "Token") -> "list[Token]":
    """Return the children without images, which only show pages of the cabinet."""
    return [child for child in token.children or [] if child.type != "image"]


def _link_to_page(token: "Token") -> "Token":
    """Point a link to another Markdown file at the page of that file."""
    href = token.attrGet("href")
    if isinstance(href, str) and (match := re.fullmatch(r"([a-z-]+)\.md(#.*)?", href)):
        token.attrSet("href", reverse("docs_page", args=[match[1]]) + (match[2] or ""))
    return token


def _add_heading_ids(tokens: "list[Token]") -> None:
    """Set the id of each heading as code hosts derive it from the text."""
    for token, content in zip(tokens, tokens[1:], strict=False):
        if token.type == "heading_open":
            words = re.sub(r"[^\w\- ]", "", content.content.lower())
            token.attrSet("id", words.strip().replace(" ", "-"))
