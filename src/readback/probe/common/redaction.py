"""Removes credentials from what is shown: every text of a report passes through here.

A `Redactor` knows the secrets of a run and hides them, whole or in part, wherever
something repeats them. What looks like a credential is hidden even if nobody has
entered it. Words stay: a key that contains "proj" does not spoil "project".
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from readback.keys import KEY_LIKE
from readback.probe.common.results import Fact

HIDDEN = "…"
# A shorter text is a part of many words, and replacing it would spoil the report.
_SHORTEST = 6
_SHORTEST_PART = 4
_LONGEST_WORD = 20
_TOKEN = re.compile(r"(?:(?!\.\.)[^\s\"'“”‘’<>(){}\[\],;|&?=/])+")
_AROUND_TOKEN = ".:…*!"
# What follows these words is hidden if it looks random: not in "Bearer authentication".
_AFTER_NAME = re.compile(
    r"((?:bearer|basic|digest|negotiate|token|api[_-]?key|secret|passw(?:or)?d|pwd"
    r"|signature|session(?:id)?|cookie|credential|jwt)[\"']?(?:\s*[:=]\s*|\s+)[\"']?)"
    r"([^\s\"'<>,;]{6,})",
    re.IGNORECASE,
)
_URL = re.compile("https?://", re.IGNORECASE)
_PATTERNS = (
    # The login of a URL, then the values of its parameters and its fragment.
    (re.compile(r"(?<=://)[^\s/?#\"'<>]*@"), ""),
    (re.compile(r"(?<=[?&;])([\w.~%-]+=)[^\s&;#\"'<>]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(://[^\s#\"'<>]{0,2048}#)[^\s\"'<>]+"), rf"\1{HIDDEN}"),
    (re.compile(r"eyJ[\w-]{8,}(?:\.[\w-]+)*"), HIDDEN),
    # Some services repeat a key with most of it replaced by asterisks.
    # It begins where a word does: a long text would otherwise take quadratic time.
    (re.compile(r"(?<![\w*-])[\w-]*\*{3,}[\w*-]*"), HIDDEN),
    (KEY_LIKE, "sk-…"),
    (re.compile(r"\b(?:gsk_|hf_|xai-|pplx-|gh[a-z]_|nvapi-|glpat-)[\w-]{12,}"), HIDDEN),
)


def without_credentials(text: str) -> str:
    """Return the text without anything that looks like a credential."""
    for pattern, shown in _PATTERNS:
        text = pattern.sub(shown, text)
    return _AFTER_NAME.sub(
        lambda match: match[1] + (HIDDEN if _is_random(match[2]) else match[2]), text
    )


def printable(text: str) -> str:
    """Replace every character that a terminal would interpret."""
    return "".join(c if c.isprintable() else "�" for c in text)


class Redactor:
    """Hides these secrets, each with the mask that replaces it, and what looks so."""

    def __init__(self, masks: Mapping[str, str]) -> None:
        forms = {form: mask for one, mask in masks.items() for form in _forms(one)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._masks = {
            one: (_pattern(one), forms[one])
            for one in longest_first
            if len(one) >= _SHORTEST
        }

    def text(self, text: str) -> str:
        for pattern, mask in self._masks.values():
            # A function, because a mask is no template.
            text = pattern.sub(lambda _, mask=mask: mask, text)  # type: ignore[misc]
        # A service may repeat only a part, or its message was cut off inside of one.
        text = _TOKEN.sub(lambda match: self._without_part(match[0]), text)
        return printable(without_credentials(text))

    def fact(self, fact: Fact) -> Fact:
        if isinstance(fact, str):
            return self.text(fact)
        if isinstance(fact, list):
            return [self.fact(item) for item in fact]
        if isinstance(fact, dict):
            return {self.text(name): self.fact(item) for name, item in fact.items()}
        return fact

    def _without_part(self, token: str) -> str:
        part = token.strip(_AROUND_TOKEN)
        if len(part) < _SHORTEST_PART:
            return token
        if token.endswith(HIDDEN) and any(one.startswith(part) for one in self._masks):
            return HIDDEN
        is_part = _is_random(part) and any(part in one for one in self._masks)
        return token.replace(part, HIDDEN) if is_part else token


def secrets_in(url: str, *, and_path: bool = False) -> Iterator[str]:
    """Yield what is secret in a URL: login, parameters, perhaps a token in its path."""
    before, at, _ = url.rpartition("://")[2].rpartition("@")
    if at:
        # A password with a slash would be taken for the end of the host.
        yield from (before, *before.split(":", 1))
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    for text in (parts.query, parts.fragment):
        for _, value in parse_qsl(text):
            # An address inside a link is no secret, but may contain some.
            yield from secrets_in(value) if _URL.match(value) else (value,)
    if and_path:
        yield from filter(_is_random, parts.path.split("/"))


def _forms(secret: str) -> Iterable[str]:
    """Return the forms in which a secret could be repeated."""
    encoded = base64.b64encode(secret.encode("utf-8", "replace")).decode()
    escaped = quote(secret, safe="", errors="replace")
    return secret, secret.strip(), unquote(secret), escaped, encoded.rstrip("=")


def _pattern(secret: str) -> re.Pattern[str]:
    """Return what finds a secret; one that is a plain word only as a whole word."""
    escaped = re.escape(secret)
    is_word = secret.isalpha() and secret[1:].islower() and len(secret) < _LONGEST_WORD
    return re.compile(rf"(?<![\w-]){escaped}(?![\w-])" if is_word else escaped)


def _is_random(text: str) -> bool:
    """Return whether this is hardly a word, a number or an address."""
    if re.search("[a-z][A-Z]|[A-Z]{2}[a-z]", text):
        return True
    return bool(re.search(r"\d", text) and re.search("[A-Za-z]", text))
