"""The index of the documentation, docs/README.md, and the search of all pages.

What is found is a section of a page, so that a setting, an error code or a finding of
the probe leads to the place that explains it. Each row of the page of symptoms is a
section of its own, which leads to where its link does.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from readback.cabinet.pages import docs

_MAX_QUERY, _MAX_WORDS, _MAX_FOUND = 200, 8, 25
_SYMPTOMS = "symptoms"
# A line that continues the one before; it begins no row, list item or quotation.
_WRAPPED = re.compile(r" *(?![|>]|[-*] |\d+\. )\S")
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-ZА-ЯЁ])")
_ROW = re.compile(r"\| (.+?) \| (.+?) \| .*?\]\((?:\.\./)?([a-z-]+)\.md(#[\w-]+)?\)")


class DocSection(NamedTuple):
    page: str
    title: str
    heading: str
    anchor: str
    lines: tuple[str, ...]


class SearchHit(NamedTuple):
    """A section with the line that answers best."""

    section: DocSection
    line: str
    url: str


@require_safe
def docs_index(request: HttpRequest) -> HttpResponse:
    language = docs.language()
    query = request.GET.get("q", "").strip()[:_MAX_QUERY]
    context = {
        "document": docs.load(docs.INDEX, language),
        "query": query,
        "found": search(query, language) if query else [],
    }
    return render(request, "pages/docs.html", context)


def search(query: str, language: str) -> list[SearchHit]:
    """Return the sections that contain every word, those with the best heading first.

    A word may be the beginning or the middle of another one. Words that stand together
    in one line, as in a pasted error message, count more than scattered ones.
    """
    phrase = " ".join(query.casefold().split())
    words = phrase.split()[:_MAX_WORDS]
    found: list[tuple[int, SearchHit]] = []
    for section in _sections(language):
        heading = section.heading.casefold()
        name = f"{section.title} {section.heading}".casefold()
        lines = [line.casefold() for line in section.lines]
        text = "\n".join([name, *lines])
        if not all(word in text for word in words):
            continue
        counts = [sum(word in line for word in words) for line in lines]
        best = max(range(len(lines)), key=counts.__getitem__, default=None)
        score = (
            8 * (phrase == heading)
            + 4 * (phrase in heading)
            + 2 * all(word in name for word in words)
            + 2 * any(phrase in line for line in lines)
            + 3 * (section.page == _SYMPTOMS)
        )
        line = "" if best is None else section.lines[best]
        url = reverse("docs_page", args=[section.page]) + section.anchor
        found.append((score, SearchHit(section, line, url)))
    found.sort(key=lambda each: -each[0])
    return [each for _, each in found[:_MAX_FOUND]]


@cache
def _sections(language: str) -> tuple[DocSection, ...]:
    order = re.findall(r"\(([a-z-]+)\.md", docs.source(docs.INDEX, language)[0])
    known = docs.names()
    names = dict.fromkeys([*(name for name in order if name in known), *sorted(known)])
    return tuple(section for name in names for section in _of_page(name, language))


def _of_page(name: str, language: str) -> Iterator[DocSection]:
    text = docs.source(name, language)[0]
    title = _title(text)
    if name == _SYMPTOMS:
        for symptom, meaning, page, anchor in _ROW.findall(text):
            title = _title(docs.source(page, language)[0])
            yield DocSection(page, title, _plain(symptom), anchor, (_plain(meaning),))
        return
    heading, in_code, is_open = title, False, False
    lines: list[str] = []
    for line in text.splitlines():
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


def _title(text: str) -> str:
    return _plain(text.partition("\n")[0])


def _section(page: str, title: str, heading: str, lines: list[str]) -> DocSection:
    anchor = "" if heading == title else "#" + docs.anchor(heading)
    sentences = [each for line in lines for each in _SENTENCES.split(_plain(line))]
    return DocSection(page, title, _plain(heading), anchor, tuple(sentences))


def _plain(line: str) -> str:
    """Return a line without the marks of Markdown."""
    line = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", line.strip("| "))
    return re.sub(r"[`*]|^[-#>]+ ?|\\(?=[\W_]|$)", "", line).replace(" | ", " · ")
