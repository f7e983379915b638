"""The search of the documentation, made for pasted error messages.

What it finds is a section of a page, so that a setting, an error code or a finding of
the probe leads to the place that explains it. Each row of the page of symptoms is a
section of its own, which leads to where its link does, and so is each setting.

Pasted messages also contain paths, names and numbers that no page has. So a section is
judged by the words that it does have, and a rare word counts more than a common one.
Words are compared without their endings. The messages of a symptom lead to it even if a
program puts other words in between. So do a status, however a program writes it, and
fields of OpenAI's API that the contract does not have.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import log
from textwrap import shorten
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from readback.cabinet.pages import docs
from readback.cabinet.pages.docs import INDEX, SETTING, anchor, reader_language, source
from readback.contract import REFUSALS

_MAX_QUERY = 2000
_MAX_FOUND = 10
# The share of the total worth of a query's words that a section must have.
_LEAST_SHARE = 0.25
# The share of the best result that another result must reach.
_LEAST_RELATIVE = 0.4
_IN_HEADING = 1.5
_STEM_LENGTH = 7
_HEADING_LENGTH = 100
_SYMPTOMS = "symptoms"
_FINDINGS = "findings"
_ERRORS = "errors"
# Where the index begins to list what hosts read.
_FOR_HOSTS = "\n## I host it"
# Most people who search connect a program, so what hosts read counts less. So do the
# findings: they answer precise questions, which have their ids and messages.
_WEIGHT_OF_OTHERS = 0.6

# Words that ask a question, or join others, say nothing about what is asked for.
_JOINING_WORDS = """
a an and are as at be by can could did do does for from has have how i if in into is it
its me my no not of on or so that the then there this to was were what when where which
why will with would you your
без в во все вы где для до если есть за и из или как какой какая какие когда который ли
мне мой моя мы на не нет но о об от по под почему при с со так то только у уже через что
чтобы это я
"""
_JOINING = frozenset(_JOINING_WORDS.split())
# Fields of requests to OpenAI and to servers like it, except those that are ordinary
# words, such as `tools`.
_OTHER_FIELDS = """
chat_template_kwargs enable_thinking frequency_penalty function_call keep_alive
logit_bias max_completion_tokens max_output_tokens min_p num_ctx parallel_tool_calls
presence_penalty prompt_cache_key reasoning_effort repetition_penalty response_format
safety_identifier service_tier stop_sequences stream_options thinking_budget tool_calls
tool_choice top_k top_logprobs top_p web_search_options
"""
# HTTP 404, status=404, HTTP/2 404, NotFoundException: 404, failed [404], 404 status …
_STATUS = re.compile(
    r"\b(?:\w*(?:code|status|error|exception)|http(?:/[\d.]+)?|failed|returned)"
    r"\W{1,4}([45]\d\d)\b|(?:^|\W)([45]\d\d) (?:status|page)",
    re.I,
)
# The share of a symptom's message that a query must contain.
_LEAST_OF_MESSAGE = 0.6
_LINKED = re.compile(r"\((?:\.\./)?([a-z-]+)\.md")
# `tls.wrong_name`, `READBACK_KEY_RATE`, `sk-echo`: one word, beside its parts.
# It begins where a word does: a long word would otherwise take quadratic time.
_COMPOUND = re.compile(r"\b\w+(?:[._-]\w+)+")
_HEADING = re.compile(r"^#{1,4} (.+)$", re.M)
_EXAMPLE = re.compile(r"^```.*?^```$", re.M | re.S)
# Where a paragraph, a row, an item or a quotation begins; other lines continue one.
_BLOCK = re.compile(r"\n\s*\n|\n(?= *(?:[|>]|[-*] |\d+\. ))|\\\n")
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-ZА-ЯЁ])")
_INNER_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ROW = re.compile(r"\| (.+?) \| (.+?) \| .*?\]\((?:\.\./)?([a-z-]+)\.md(#[\w-]+)?\)")
_SETTING_ROW = re.compile(rf"^\| {SETTING.pattern} \| .+? \| (.+) \|$", re.M)


class DocSection(NamedTuple):
    page: str
    title: str
    heading: str
    anchor: str
    text: str
    names: tuple[str, ...]
    """The texts that certainly lead here: the heading, or the messages of a symptom."""


class SearchHit(NamedTuple):
    """A section with the sentence that answers best."""

    section: DocSection
    heading: str
    line: str
    url: str


class SearchIndex(NamedTuple):
    sections: list[DocSection]
    words: dict[str, dict[int, float]]
    """How much a word counts in each section: more in a heading than in a text."""


@require_safe
def docs_index(request: HttpRequest) -> HttpResponse:
    language = reader_language()
    query = request.GET.get("q", "").strip()[:_MAX_QUERY]
    context = {
        "document": docs.load(INDEX, language),
        "query": query,
        "found": search(query, language) if query else [],
    }
    response = render(request, "pages/docs.html", context)
    if not query:
        path = docs.path_of(INDEX, markdown=True)
        docs.name_alternate(response, path, "text/markdown")
    return docs.cached(request, response)


def search(query: str, language: str) -> list[SearchHit]:
    """Return the sections that have most of the words, the best one first."""
    index = _index(language)
    worth = {word: _worth(word, index) for word in _stems(query)}
    whole = sum(worth.values())
    scores: dict[int, float] = {}
    for word, value in worth.items():
        for number, weight in index.words.get(word, {}).items():
            scores[number] = scores.get(number, 0.0) + weight * value
    phrase = _phrase(query)
    for number, section in enumerate(index.sections):
        # A longer name is a more precise one.
        if shares := [
            share * (1 + len(name) / len(phrase))
            for name in section.names
            if (share := _share(name, phrase, worth))
        ]:
            scores[number] = scores.get(number, 0.0) + max(shares) * whole
    best = max(scores.values(), default=0.0)
    least = max(_LEAST_SHARE * whole, _LEAST_RELATIVE * best)
    found = [number for number in scores if scores[number] >= least]
    ranked = sorted(found, key=lambda number: -scores[number])
    hits: dict[str, SearchHit] = {}
    for number in ranked[:_MAX_FOUND]:
        hit = _hit(index.sections[number], worth)
        # A symptom leads to a section that may be found, too.
        hits.setdefault(hit.url, hit)
    return list(hits.values())


def _phrase(query: str) -> str:
    """Return a query with the words of its identifiers, and with its statuses."""
    statuses = (f"error code {a or b}" for a, b in _STATUS.findall(query))
    return _words(" ".join([query, query.replace("_", " "), *statuses]))


def _share(name: str, phrase: str, worth: Mapping[str, float]) -> float:
    """Return how much of a name a query has: all of it, in a row, or most words.

    Another number, such as a status, makes it another message.
    """
    if name in phrase:
        return 1.0
    words = _words_of_name(name)
    missing = [word for word in words if word not in worth]
    if len(words) < 3 or not all(map(str.isalpha, missing)):
        return 0.0
    share = 1 - len(missing) / len(words)
    return share / 2 if share >= _LEAST_OF_MESSAGE else 0.0


@cache  # there are only those of the pages
def _words_of_name(name: str) -> frozenset[str]:
    return frozenset(_stems(name))


def _worth(word: str, index: SearchIndex) -> float:
    """Return what a word of a query is worth: a rare one most.

    A word that no page has is worth as little as one that most sections have, and
    nothing if it has digits, as a path, an address or a number has.
    """
    if known := index.words.get(word):
        return log(1 + len(index.sections) / len(known))
    return 1.0 if word.isalpha() else 0.0


def _hit(section: DocSection, worth: dict[str, float]) -> SearchHit:
    def value(sentence: str) -> tuple[float, int]:
        # A number, such as a status, answers nothing.
        words = [word for word in _stems(sentence) if not word.isdigit()]
        return sum(worth.get(word, 0.0) for word in words), len(sentence)

    blocks = map(_plain, _BLOCK.split(section.text))
    sentences = [each for block in blocks for each in _SENTENCES.split(block)]
    url = reverse("docs_page", args=[section.page]) + section.anchor
    # A symptom may have twenty messages.
    heading = shorten(section.heading, _HEADING_LENGTH, placeholder=" …")
    return SearchHit(section, heading, max(sentences, key=value), url)


def _stems(text: str) -> set[str]:
    """Return the words of a text without their endings, and whole compounds.

    A compound such as `ConnectTimeout` is also two words.
    """
    text = text.replace("ё", "е")
    words = re.findall(r"[^\W_]+", f"{text} {_INNER_WORD.sub(' ', text)}".casefold())
    stems = {word[:_STEM_LENGTH] for word in words if word not in _JOINING and word[1:]}
    return {*_COMPOUND.findall(text.casefold()), *stems}


@cache
def _index(language: str) -> SearchIndex:
    for_hosts = source(INDEX, "en")[0].partition(_FOR_HOSTS)[2]
    others = {_FINDINGS, *_LINKED.findall(for_hosts)}
    order = _LINKED.findall(source(INDEX, language)[0])
    sections: list[DocSection] = []
    words: dict[str, dict[int, float]] = {}
    # Of equal sections, those of the page come first that the index lists first.
    for name in sorted(docs.names(), key=lambda name: (*order, name).index(name)):
        factor = _WEIGHT_OF_OTHERS if name in others else 1.0
        for section in _sections(name, language):
            number = len(sections)
            sections.append(section)
            for word in _stems(section.text):
                words.setdefault(word, {})[number] = factor
            for word in _stems(f"{section.title} {section.heading}"):
                words.setdefault(word, {})[number] = factor * _IN_HEADING
    return SearchIndex(sections, words)


def _sections(name: str, language: str) -> Iterator[DocSection]:
    text = source(name, language)[0]
    title = _plain(text.partition("\n")[0])
    if name == _SYMPTOMS:
        for symptom, meaning, page, place in _ROW.findall(text):
            title = _plain(source(page, language)[0].partition("\n")[0])
            messages = tuple(map(_words, re.findall("`([^`]+)`", symptom)))
            yield DocSection(page, title, _plain(symptom), place, meaning, messages)
        return
    for setting, meaning in _SETTING_ROW.findall(text):
        place = f"#{anchor(setting)}"
        yield DocSection(name, title, setting, place, meaning, (_words(setting),))
    # A comment in an example is no heading.
    text = _EXAMPLE.sub(lambda found: found[0].replace("\n#", "\n"), text)
    _, *parts = _HEADING.split(_SETTING_ROW.sub("", text))
    for heading, content in zip(parts[::2], parts[1::2], strict=True):
        place = f"#{anchor(heading)}" if heading != parts[0] else ""
        names = [_words(heading)] if place else [_words(heading), _words(name)]
        if name == _ERRORS:
            names += map(_words, _shown_for(_plain(heading)))
        if content.strip():  # a heading alone answers nothing
            yield DocSection(name, title, _plain(heading), place, content, tuple(names))


def _shown_for(code: str) -> Iterator[str]:
    """Yield what programs show for a refusal: its status, if no other has the same."""
    statuses = [refusal.status for refusal in REFUSALS.values()]
    if (refusal := REFUSALS.get(code)) and statuses.count(refusal.status) == 1:
        yield f"error code {refusal.status}"
    if code == "unknown_field":
        yield from _OTHER_FIELDS.split()


def _words(text: str) -> str:
    """Return a text in a form in which whole words can be looked for."""
    words = re.findall(r"\w+", text.casefold().replace("ё", "е"))
    return f" {' '.join(words)} "


def _plain(text: str) -> str:
    """Return a text in one line, without the marks of Markdown."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split()).strip("| "))
    return re.sub(r"[`*]|^[-#>]+ ?|\\(?=[\W_]|$)", "", text).replace(" | ", " · ")
