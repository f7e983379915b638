"""The repository's docs/*.md as pages: found, ordered, and turned into HTML.

The wheel carries docs/ inside the package; a clone has it at its root. The page of
refusals is written from the contract, so it exists in every language.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from readback.cabinet import errors_page

_PACKAGED = Path(__file__).parent / "docs"
_CLONED = Path(__file__).parents[3] / "docs"
FOLDER = _PACKAGED if _PACKAGED.is_dir() else _CLONED

# For whom a page is, in the order of the index.
FOR_CLIENTS = ("connect", "contract", "errors", "cabinet", "cli")
FOR_OPERATORS = (
    "operations",
    "settings",
    "accounts",
    "performance",
    "growth",
    "decisions",
)


class Document(NamedTuple):
    name: str
    title: str
    html: SafeString
    language: str


def names() -> set[str]:
    return {path.stem for path in FOLDER.glob("*.md")}


def load(name: str, language: str) -> Document:
    """Give a page in the reader's language, or in English where there is no other."""
    if name == "errors":
        return _document(name, errors_page.markdown(), language)
    translated = FOLDER / language / f"{name}.md"
    if translated.is_file():
        return _read(name, translated, language)
    return _read(name, FOLDER / f"{name}.md", "en")


@cache
def _read(name: str, path: Path, language: str) -> Document:
    return _document(name, path.read_text(encoding="utf-8"), language)


def _document(name: str, text: str, language: str) -> Document:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    title = _title(tokens)
    for token in tokens:
        token.children = [_inline(child) for child in _shown(token)]
    _anchor(tokens)
    html = parser.renderer.render(tokens, parser.options, {}).replace("<p></p>\n", "")
    # Wide tables scroll in a box of their own, so that the page does not.
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    html = html.replace("</table>", "</table></div>")
    # Markdown of our own, rendered with HTML switched off.
    return Document(name, title, mark_safe(html), language)


def _title(tokens: list[Token]) -> str:
    return tokens[1].content.replace("`", "")


def _shown(token: Token) -> list[Token]:
    """Leave pictures out: they show the pages that the reader is on."""
    return [child for child in token.children or [] if child.type != "image"]


def _inline(token: Token) -> Token:
    href = token.attrGet("href")
    if isinstance(href, str) and (match := re.fullmatch(r"([a-z]+)\.md(#.*)?", href)):
        token.attrSet("href", reverse("docs_page", args=[match[1]]) + (match[2] or ""))
    return token


def _anchor(tokens: list[Token]) -> None:
    """Give each heading the name under which the code host links to it, too."""
    for token, inside in zip(tokens, tokens[1:], strict=False):
        if token.type == "heading_open":
            words = re.sub(r"[^\w\- ]", "", inside.content.lower())
            token.attrSet("id", words.strip().replace(" ", "-"))
