"""A pasted key: finds it among what surrounds it, and holds it without showing it.

A whole Readback key is proved by its checksum, whatever surrounds it. A key of another
service cannot be proved, so only what certainly does not belong to it is removed. A
secret is sent in a request header and appears nowhere else.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import unquote

from readback import keys
from readback.probe.common.results import Diagnosis, Fact
from readback.probe.entered.corrections import (
    BRACKETS,
    DASHES,
    QUOTES,
    Correction,
    correct,
    remove_invisible,
    replace_look_alikes,
    replacing,
    without_implied,
)

# A shorter text is a part of many words, and replacing it would spoil the report.
_SHORTEST_REDACTED = 6
# Enough for a file of settings, in which a Readback key is searched.
_SEARCHED_LENGTH = 50_000
# More does not fit into the request headers that servers accept.
MAX_KEY_LENGTH = 8000
_AROUND_LENGTH = 200
# Line breaks inside a key, with the sign of a continued line in front.
_GAP = r"(?:[=\\]?\s)*"
_SECRET_LENGTH = keys.LENGTH - len(keys.PREFIX)
# A lookahead, because a part of a wrong key can begin a right one.
_SPACED_KEY = re.compile(
    f"(?=({_GAP.join(keys.PREFIX)}(?:{_GAP}[0-9A-Za-z]){{{_SECRET_LENGTH}}}))"
)
_PREFIX = re.compile(keys.PREFIX, re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}")
_PERCENT = re.compile("%[0-9a-f]{2}", re.IGNORECASE)

# The marker replaces the key while its surroundings are examined.
_MARKER = "\0"
_QUOTE = re.escape(QUOTES + "`\\")
_BRACKET = re.escape(BRACKETS)
_EXPORT = r"(?:(?:export|setx?|env|declare|const|let|var)\s+(?:-\w+\s+)*|\$env:)"

_AROUND = (
    replacing("key.spaces", r"^\s+|\s+$|(?<=\0)(?:\\[nrt])+"),
    replacing(
        "key.json",
        rf"^.*[{_QUOTE}][\w .-]+[{_QUOTE}]+\s*:\s*[{_QUOTE}]+\0[{_QUOTE}]+.*$",
        _MARKER,
        re.DOTALL,
    ),
    replacing("key.quoted", rf"[{_QUOTE}]+(?=\0)|(?<=\0)[{_QUOTE}]+"),
    replacing("key.quoted", rf"^[{_QUOTE}]+|[{_QUOTE}]+$"),
    replacing("key.brackets", rf"[{_BRACKET}]+(?=\0)|(?<=\0)[{_BRACKET}]+"),
    replacing("key.brackets", rf"^[{_BRACKET}]+|[{_BRACKET}]+$"),
    replacing("key.bearer", r"(?:\bbearer[\s:=]*)+(?=\0)"),
    replacing("key.header", r"(?:(?:proxy-)?authorization\s*[:=]|-H)\s*(?=\0)"),
    replacing("key.export", rf"{_EXPORT}\w+\s*[=:\s]\s*(?=\0)"),
    replacing("key.assignment", r"[\w.\[\]-]+\s*(?::=|=>?|:)\s*(?=\0)"),
    replacing("key.punctuation", r"(?<=\0)[,;.:!?…]+(?=\s|$)"),
)
_ATTACHED = re.compile(r"[\w-]\0|\0[\w-]")

_AROUND_FOREIGN = (
    Correction("key.invisible", remove_invisible),
    replacing("key.spaces", r"^\s+|\s+$|(?:\\[nrt])+$"),
    replacing(
        "key.json",
        r"""^\{?\s*["']\w{0,60}?(?:key|token)\w{0,60}["']\s*:\s*["']([^"'\s]+)["']\s*,?\s*\}?$""",
        r"\1",
    ),
    replacing("key.quoted", rf"^[{_QUOTE}]+|[{_QUOTE}]+$"),
    replacing("key.brackets", r"^[<(\[{](.*)[>)\]}]$", r"\1"),
    replacing("key.header", r"^(?:(?:proxy-)?authorization\s*[:=]|-H\s)\s*"),
    replacing("key.bearer", r"^(?:bearer[\s:]+)+"),
    replacing("key.export", rf"^{_EXPORT}\w+\s*[=\s]\s*(?=\S)"),
    replacing(
        "key.assignment", r"^\w{0,60}?(?:key|token|secret)\w{0,60}\s*[:=]\s*(?=\S)"
    ),
    replacing("key.punctuation", "[,;]+$"),
)
# What is only a part of another mistake.
_IMPLIED = {
    "key.json": ("key.quoted", "key.brackets", "key.punctuation"),
    "key.export": ("key.quoted", "key.punctuation"),
    "key.assignment": ("key.quoted",),
    "key.header": ("key.bearer", "key.quoted"),
}


class Secret:
    """A key that appears neither in printed output nor in a traceback."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._forms = _forms(text)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return self.mask

    @property
    def is_readback_key(self) -> bool:
        """Whether this is exactly a Readback key, with the right checksum."""
        return keys.why_invalid(self._text.encode("utf-8", "replace")) is None

    @property
    def mask(self) -> str:
        if not self._text:
            return "none"
        if not self.is_readback_key:
            return "not a Readback key"
        return keys.masked(keys.last_characters(self._text))

    def reveal(self) -> str:
        """Return the key itself; use it only in a request header."""
        return self._text

    def redact(self, diagnosis: Diagnosis) -> Diagnosis:
        """Return the diagnosis with every occurrence of the key masked."""
        return replace(
            diagnosis,
            sentence=self._redact_text(diagnosis.sentence),
            hint=self._redact_text(diagnosis.hint),
            figure=self._redact_text(diagnosis.figure),
            facts={
                name: self._redact_fact(fact) for name, fact in diagnosis.facts.items()
            },
            details=tuple(map(self._redact_text, diagnosis.details)),
        )

    def _redact_fact(self, fact: Fact) -> Fact:
        if isinstance(fact, str):
            return self._redact_text(fact)
        if isinstance(fact, list):
            return [self._redact_fact(item) for item in fact]
        if isinstance(fact, dict):
            return {name: self._redact_fact(item) for name, item in fact.items()}
        return fact

    def _redact_text(self, text: str) -> str:
        for form, mask in self._forms.items():
            text = text.replace(form, mask)
        return text


def _forms(text: str) -> dict[str, str]:
    """Return the forms in which the key could be shown, longest first, with masks."""
    masks = dict.fromkeys((text, text.strip(), *unwrap(text).keys), "[key]")
    if found := find_readback_keys(text):
        masks.update(
            (one, keys.masked(keys.last_characters(one))) for one in found.keys
        )
    longest_first = sorted(masks, key=len, reverse=True)
    return {one: masks[one] for one in longest_first if len(one) >= _SHORTEST_REDACTED}


class PastedKey(NamedTuple):
    keys: list[str]
    """The different keys; only Readback keys can be told apart from other text."""
    mistakes: dict[str, str]
    """The ids of what was wrong, each with the text before it was corrected."""


class _Reading(NamedTuple):
    """One way to read the pasted text, and the mistakes that it assumes."""

    text: str
    mistakes: dict[str, str]


def find_readback_keys(text: str) -> PastedKey | None:
    """Return the whole Readback keys in the text, or None if there is none."""
    for reading in _readings(text[:_SEARCHED_LENGTH]):
        if spans := list(_whole_keys(reading.text)):
            return _describe(reading, spans)
    return None


def unwrap(text: str) -> PastedKey:
    """Return what is left of the text without what surrounds a key."""
    rest, mistakes = correct(text[:MAX_KEY_LENGTH], _AROUND_FOREIGN)
    ids = without_implied(mistakes, _IMPLIED)
    return PastedKey([rest], {id: mistakes[id] for id in ids})


def _readings(text: str) -> Iterator[_Reading]:
    """Yield the text as it is, then with more and more of it corrected."""
    reading = _changed(_Reading(text, {}), "key.invisible", remove_invisible(text))
    if _PERCENT.search(reading.text):
        plain = unquote(reading.text)
        reading = _changed(reading, "key.percent_encoded", plain)
    yield reading
    yield from _decoded(reading)
    hyphens = reading.text.translate(dict.fromkeys(map(ord, DASHES), "-"))
    reading = _changed(reading, "key.dash", hyphens)
    reading = _changed(reading, "key.letters", replace_look_alikes(hyphens))
    yield reading
    yield _changed(reading, "key.case", _PREFIX.sub(keys.PREFIX, reading.text))
    yield _changed(reading, "key.case", reading.text.swapcase())


def _changed(reading: _Reading, id: str, text: str) -> _Reading:
    if text == reading.text:
        return reading
    return _Reading(text, {**reading.mistakes, id: reading.text})


def _decoded(reading: _Reading) -> Iterator[_Reading]:
    for match in _BASE64.finditer(reading.text):
        word = match[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            plain = base64.b64decode(word + "=" * (-len(word) % 4)).decode("ascii")
        except ValueError:
            continue
        text = reading.text.replace(match[0], plain)
        yield _changed(reading, "key.base64", text)


def _whole_keys(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and key of every key in the text whose checksum is right."""
    for match in _SPACED_KEY.finditer(text):
        key = re.sub(r"[\s=\\]", "", match[1])
        if keys.why_invalid(key.encode()) is None:
            yield match.start(1), match.end(1), key


def _describe(reading: _Reading, spans: list[tuple[int, int, str]]) -> PastedKey:
    found = list(dict.fromkeys(key for _, _, key in spans))
    mistakes = dict(reading.mistakes)
    if any(end - start > keys.LENGTH for start, end, _ in spans):
        mistakes["key.broken"] = ""
    if len(found) > 1:
        mistakes["key.several"] = ""
        return PastedKey(found, mistakes)
    if len(spans) > 1:
        mistakes["key.twice"] = ""
    first, last = spans[0][0], spans[-1][1]
    before = reading.text[max(first - _AROUND_LENGTH, 0) : first]
    after = reading.text[last : last + _AROUND_LENGTH]
    # Percent-encoding can also produce the marker.
    before, after = before.replace(_MARKER, " "), after.replace(_MARKER, " ")
    rest, around = correct(before + _MARKER + after, _AROUND)
    ids = without_implied(around, _IMPLIED)
    if rest != _MARKER:
        ids.append("key.extra" if _ATTACHED.search(rest) else "key.surrounded")
    return PastedKey(found, {**dict.fromkeys(ids, ""), **mistakes})
