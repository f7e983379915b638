"""The search in the documentation, designed for pasted error messages.

Each result is a section of a page; `search_index.py` collects the sections.

Sections whose message is in the query come first. The longest message is the most
certain; a status and the name of an exception are less certain, and a message in
“quotation marks”, which many causes share, is the least certain. Then come the sections
that share words with the query; rare words count more. If no section has half of
an error's words, advice on how to find its cause comes first.
"""

import re
from collections.abc import Mapping
from math import inf, log
from textwrap import shorten
from typing import NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from readback.cabinet.pages import docs
from readback.cabinet.pages.search_index import (
    INNER_WORD,
    DocSection,
    SearchIndex,
    as_words,
    has_name,
    plain,
    search_index,
    stems,
)

# The query is part of the URL, so its length is limited.
_MAX_QUERY = 2000
_MAX_FOUND = 10
# Other results must score at least this fraction of the best score.
_LEAST_RELATIVE = 0.5
# This name leads to the section on how to find the cause.
_NO_REASON = " cannot connect "
_HEADING_LENGTH = 100

# Words that occur in nearly every question count only if the query has no others.
_WIDE_WORDS = stems("""
bot connect connection does doesn error errors exception failed help issue occurred
openai please problem program server work working works wrong
бот боте ботом выдает ошибка ошибки ошибкой ошибку пишет показывает помогите проблема
программа работает работать сервер
""")
# HTTP 404, status=404, HTTP/2 404, NotFoundException: 404, failed [404], was 404 …
_STATUS = re.compile(
    r"\b(?:\w*(?:code|status|error|exception)(?: is| was)?|http(?:/[\d.]+)?|failed"
    r"|returned|ошибк[ау](?: \w+)?)\W{1,4}(?<! -)([345]\d\d)\b"
    r"|(?:^|\W)([45]\d\d) (?:status|page)",
    re.I,
)
# A failed name lookup, and the rest of its message, which names the resolver's port 53
# or comes from a library: lookup NAME on [::1]:53: read udp …: connection refused,
# queryA ETIMEOUT, dns error: …
_LOOKUP = re.compile(
    r"(?:(?:\bE[A-Z]{3,20} )?(?:\b[\d.]{7,15}|\]):53\b|\bquery[A-Z]\w{0,9} E[A-Z]{3,20}"
    r"|\b(?i:lookup (\S{1,200}): |resolving (?:host )?timed out|name lookup timed out"
    r"|dns[ _:](?:error|look|probe|quer|request|resol|server|time)))[^\n\"]*"
)
# The request that the AI SDK repeats in its messages.
_ECHO = re.compile(r"requestBodyValues\W+\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
# A line of a traceback that names a place in the code. It separates messages even if
# the lines were joined into one, as in a form field.
_FRAME = re.compile(
    r'File "[^"\n]*", line \d+(?:, in \S+)?|\bat [^():\n]{1,200}\([^()\n]{1,300}\)'
    r"|\.\.\. \d+ more|[~^]{3,}"
)
# An exception's message: `httpx.ConnectError: [Errno 111] Connection refused`.
_EXCEPTION = re.compile(r"\b[\w.]{0,80}?(?:Error|Exception|Timeout)\b.{0,20}: .{1,200}")
# A paragraph, a table row, a list item or a quotation begins here.
_BLOCK = re.compile(r"\n\s*\n|\n(?= *(?:[|>]|[-*] |\d+\. ))|\\\n")
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-ZА-ЯЁ])")
# Many causes share `BadRequestError` or `Error code: 400`.
_BARE = {" error code 400 ", " error code 500 ", " bad request "}
_GENERIC = re.compile(r" (?:\w*(?:error|exception)|error code \d+|\d+ \w+) ")


class SearchHit(NamedTuple):
    """A section, and its sentence that matches the query best."""

    section: DocSection
    heading: str
    line: str
    url: str


@csrf_exempt  # a search changes nothing
@require_http_methods(["GET", "HEAD", "POST"])
def docs_index(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":  # a traceback is too long for a URL
        query = urlencode({"q": essence(request.POST.get("q", ""))})
        return redirect(f"{docs.path_of(docs.INDEX)}?{query}")
    language = docs.reader_language()
    query = request.GET.get("q", "").strip()[:_MAX_QUERY]
    context = {
        "document": docs.load(docs.INDEX, language),
        "query": query,
        "found": search(query, language) if query else [],
    }
    response = render(request, "pages/docs.html", context)
    if not query:
        path = docs.path_of(docs.INDEX, markdown=True)
        docs.name_alternate(response, path, "text/markdown")
    return docs.cached(request, response)


def essence(pasted: str) -> str:
    """Return the message of a traceback, without its stack frames."""
    text, frames = _FRAME.subn("\n", pasted)
    text = re.sub(r"\s*\n\s*", "\n", text).strip()
    if frames or len(text) > _MAX_QUERY:
        # The message is at the end, unless a library hides it behind its own message.
        text = "\n".join(dict.fromkeys([*_EXCEPTION.findall(text), text[-300:]]))
    return text[-_MAX_QUERY:]


def search(query: str, language: str) -> list[SearchHit]:
    """Return the sections that match a query, the best one first."""
    index = search_index(language)
    words = stems(query)
    worth = {word: _worth(word, index) for word in words - _WIDE_WORDS or words}
    scores = _scores(worth, index)
    best = max(scores.values(), default=0.0)
    names = _precise_names(_phrase(query), index)
    is_unknown = words <= _WIDE_WORDS or best <= sum(worth.values()) / 2
    if is_unknown and not names and words & _WIDE_WORDS:
        names = {_NO_REASON}
    lengths: dict[int, float] = {}
    for name in names:
        for number in index.names[name]:
            # If two sections have the same name, the symptom comes first.
            length = len(name) + 0.5 * index.sections[number].is_symptom
            lengths[number] = max(length, lengths.get(number, 0.0))
    # If a match is certain, sections that only share words are not shown.
    least = _LEAST_RELATIVE * best if names <= index.vague_names else inf
    found = [n for n, score in scores.items() if score >= least]
    ranked = sorted(
        {*found, *lengths}, key=lambda n: (-lengths.get(n, 0), -scores.get(n, 0.0), n)
    )
    hits: dict[str, SearchHit] = {}
    for number in ranked[:_MAX_FOUND]:
        hit = _hit(index.sections[number], worth)
        # A symptom and the section to which it leads are one result.
        hits.setdefault(hit.url, hit)
    return list(hits.values())


def _phrase(query: str) -> str:
    """Return a query's words, including those inside identifiers, and its statuses."""
    statuses = (f"error code {a or b}" for a, b in _STATUS.findall(query))
    query = _LOOKUP.sub(r" \1 no such host ", _ECHO.sub("", query))
    parts = INNER_WORD.sub(" ", query.replace("_", " "))
    # Separate lines, so that no name matches across the parts.
    return "\n".join(map(as_words, [query, parts, *statuses]))


def _scores(worth: Mapping[str, float], index: SearchIndex) -> dict[int, float]:
    """Return the score of each section: the total weight of the query's words in it."""
    scores: dict[int, float] = {}
    for word, value in worth.items():
        for number, weight in index.words.get(word, {}).items():
            scores[number] = scores.get(number, 0.0) + weight * value
    return scores


def _precise_names(phrase: str, index: SearchIndex) -> set[str]:
    """Return the most precise of the names in a query.

    Names that many causes share, such as a status, count only if there are no others,
    and vague names only if there are none of these, or only a bare `400`.
    """
    names = {name for name in index.names if has_name(phrase, name)}
    specific = {name for name in names if not _GENERIC.fullmatch(name)}
    telling = {n for n in specific if index.names[n] != index.names[_NO_REASON]}
    bare = {n for name in _BARE for n in index.names.get(name, ())}
    clear = {name for name in telling if not bare.issuperset(index.names[name])}
    vague = index.vague_names
    precise = telling - vague or names - vague - _BARE or clear or telling or names
    # `Invalid URL` says nothing if the message is `Invalid URL (POST …`.
    return {name for name in precise if not any(name in n != name for n in precise)}


def _worth(word: str, index: SearchIndex) -> float:
    """Return a word's weight: high if it is rare, low if it is common or unknown."""
    known = index.words.get(word)
    return log(1 + len(index.sections) / len(known)) if known else 1.0


def _hit(section: DocSection, worth: dict[str, float]) -> SearchHit:
    def value(sentence: str) -> tuple[float, int]:
        # A bare number, such as a status, does not make a sentence relevant.
        words = [word for word in stems(sentence) if not word.isdigit()]
        return sum(worth.get(word, 0.0) for word in words), len(sentence)

    blocks = map(plain, _BLOCK.split(section.text))
    sentences = [each for block in blocks for each in _SENTENCES.split(block)]
    url = reverse("docs_page", args=[section.page]) + section.anchor
    heading = shorten(section.heading, _HEADING_LENGTH, placeholder=" …")
    # A symptom's row is short, and its cause and fix belong together.
    line = plain(section.text) if section.is_symptom else max(sentences, key=value)
    return SearchHit(section, heading, line, url)
