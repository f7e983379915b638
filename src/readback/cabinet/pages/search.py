"""The search of the documentation, made for pasted error messages.

What it finds is a section of a page, so that a setting, an error code or a finding of
the probe leads to the place that explains it. Each row of the page of symptoms is a
section of its own, which leads to where its link does, and so is each setting.

Nobody pastes only words that the pages have: a message comes with paths, names and
numbers. So a section is judged by the words that it does have, and a rare word counts
more than a common one. Words are compared without their endings.
"""

import re
from collections.abc import Iterator
from functools import cache
from math import log
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from readback.cabinet.pages import docs
from readback.cabinet.pages.docs import INDEX, SETTING, anchor, reader_language, source

# Of a query: characters, and different words, the rarest first.
_MAX_QUERY, _MAX_WORDS = 2000, 60
_MAX_FOUND = 15
# Of what the words of a query are worth together, what a section must have.
_LEAST_SHARE = 0.34
# Of the best result, what another one must have.
_LEAST_RELATIVE = 0.4
_SYMPTOMS, _FINDINGS, _HOSTING = "symptoms", "findings", "hosting"
# Findings answer precise questions; for others, a page is the better beginning. Most
# people who search connect a program: what they read counts more than the rest.
_WEIGHT_OF_FINDINGS, _WEIGHT_OF_OTHERS = 0.8, 0.6

_LINKED = re.compile(r"\((?:\.\./)?([a-z-]+)\.md")
_WORD = re.compile(r"\w+")
# `tls.wrong_name`, `READBACK_KEY_RATE`, `sk-echo`: one word, beside its parts.
# It begins where a word does: a long word would otherwise take quadratic time.
_COMPOUND = re.compile(r"\b\w+(?:[.-]\w+)+")
_ENGLISH_ENDING = re.compile(r"(?<=\w\w\w)(?:ing|ed|es|s|e)$")
_RUSSIAN_ENDING = re.compile(
    r"(?<=\w\w\w)(?:иями|ями|ами|ого|его|ому|ему|ыми|ими|ешь|ете|ите|ает|яет|ают|яют"
    r"|ать|ять|ить|еть|ила|ала|или|али|ой|ей|ий|ый|ое|ее|ая|яя|ые|ие|ую|юю|ом|ем"
    r"|ам|ям|ах|ях|ов|ев|ию|ия|ит|ет|ут|ют|ат|ят|ся|сь|а|я|о|е|ы|и|у|ю|ь|й)$"
)
# A line that continues the one before; it begins no row, list item or quotation.
_WRAPPED = re.compile(r" *(?![|>]|[-*] |\d+\. )\S")
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-ZА-ЯЁ])")
_ROW = re.compile(r"\| (.+?) \| (.+?) \| .*?\]\((?:\.\./)?([a-z-]+)\.md(#[\w-]+)?\)")
_MESSAGE = re.compile(r"`([^`]+)`")
_SETTING_ROW = re.compile(rf"^\| {SETTING.pattern} \| .+? \| (.+) \|$", re.M)


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


class SearchIndex(NamedTuple):
    sections: tuple[DocSection, ...]
    words: dict[str, dict[int, float]]
    """How much a word counts in which section: more in its heading than in its text."""
    named: dict[str, set[int]]
    """The sections by their headings; the first one of a page also by its name."""
    quoting: dict[int, re.Pattern[str]]
    """What finds the messages that a section quotes."""


@require_safe
def docs_index(request: HttpRequest) -> HttpResponse:
    language = reader_language()
    query = request.GET.get("q", "").strip()[:_MAX_QUERY]
    context = {
        "document": docs.load(INDEX, language),
        "query": query,
        "found": search(query, language) if query else [],
    }
    return docs.cached(request, render(request, "pages/docs.html", context))


def search(query: str, language: str) -> list[SearchHit]:
    """Return the sections that have most of the words, the best one first.

    A symptom is also found if the query contains a message that it quotes, whatever
    else was pasted: the name of an exception, an address, a number.
    """
    index = _index(language)
    phrase = " ".join(query.casefold().split())
    worth = _worth(phrase, index)
    whole = sum(worth.values())
    is_precise = any(map(str.isdigit, phrase)) or bool(_COMPOUND.search(phrase))
    found = {
        number: share * _weight(index.sections[number], is_precise)
        for number, share in _shares(worth, index).items()
        if share >= _LEAST_SHARE * whole
    }
    named = index.named.get(phrase, set())
    for number in named:
        found[number] = found.get(number, 0.0) + 2 * whole
    for number, messages in index.quoting.items():
        if number not in named and (quoted := messages.search(phrase)):
            # A longer message is a more precise one.
            length = len(quoted[0]) / len(phrase)
            found[number] = found.get(number, 0.0) + (1 + length) * whole
    ranked = sorted(found, key=lambda number: -found[number])[:_MAX_FOUND]
    return [
        _hit(index.sections[number], worth)
        for number in ranked
        if found[number] >= _LEAST_RELATIVE * found[ranked[0]]
    ]


@cache
def _for_hosts() -> set[str]:
    """Return the pages for hosts and engineers, which their index lists."""
    return set(_LINKED.findall(source(_HOSTING, "en")[0]))


def _weight(section: DocSection, is_precise: bool) -> float:
    if section.page in _for_hosts():
        return _WEIGHT_OF_OTHERS
    is_finding = section.page == _FINDINGS
    return _WEIGHT_OF_FINDINGS if is_finding and not is_precise else 1.0


def _worth(phrase: str, index: SearchIndex) -> dict[str, float]:
    """Return what each word of a query is worth: a rare one most.

    A word that no page has is worth as little as one that most sections have, and
    nothing if it has digits, as a path, an address or a number has.
    """
    number = len(index.sections)
    worth = {}
    for word in dict.fromkeys(_stems(phrase)):
        known = index.words.get(word)
        if known:
            worth[word] = log(1 + number / len(known))
        elif word.isalpha():
            worth[word] = 1.0
    rarest = sorted(worth, key=lambda word: -worth[word])[:_MAX_WORDS]
    return {word: worth[word] for word in rarest}


def _shares(worth: dict[str, float], index: SearchIndex) -> dict[int, float]:
    """Return for each section what the words are worth that it has."""
    shares: dict[int, float] = {}
    for word, value in worth.items():
        for number, weight in index.words.get(word, {}).items():
            shares[number] = shares.get(number, 0.0) + weight * value
    return shares


def _hit(section: DocSection, worth: dict[str, float]) -> SearchHit:
    def value(line: str) -> float:
        return sum(worth.get(word, 0.0) for word in set(_stems(line.casefold())))

    line = max(section.lines, key=value, default="")
    url = reverse("docs_page", args=[section.page]) + section.anchor
    return SearchHit(section, line, url)


def _stems(text: str) -> Iterator[str]:
    """Yield the words of a text without their endings, and whole compounds."""
    yield from _COMPOUND.findall(text)
    for word in _WORD.findall(text):
        ending = _ENGLISH_ENDING if word.isascii() else _RUSSIAN_ENDING
        yield ending.sub("", word)
        if "_" in word:
            yield from (part for part in word.split("_") if part)


@cache
def _index(language: str) -> SearchIndex:
    order = _LINKED.findall(source(INDEX, language)[0] + source(_HOSTING, "en")[0])
    known = docs.names() - {_HOSTING}
    pages = dict.fromkeys([*(name for name in order if name in known), *sorted(known)])
    sections = tuple(each for name in pages for each in _of_page(name, language))
    words: dict[str, dict[int, float]] = {}
    named: dict[str, set[int]] = {}
    for number, section in enumerate(sections):
        named.setdefault(section.heading.casefold(), set()).add(number)
        if not section.anchor:
            named.setdefault(section.page, set()).add(number)
        text = "\n".join(section.lines).casefold()
        name = f"{section.title} {section.heading}".casefold()
        for weight, part in ((1.0, text), (1.5, name)):
            for word in _stems(part):
                words.setdefault(word, {})[number] = weight
    quoting = {n: each.messages for n, each in enumerate(sections) if each.messages}
    return SearchIndex(sections, words, named, quoting)


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
