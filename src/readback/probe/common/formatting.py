"""Formats numbers, and removes credentials from everything that is shown.

Everything received from the network passes through `sanitize` before it is shown. It
replaces control characters that a terminal would interpret, hides anything that looks
like a credential, and limits the length. Every string of a finished report also passes
through a `Redactor`, which hides this run's secrets wherever they are repeated, whole
or in part. Short parts stay: a key that contains "proj" does not affect "project".
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qsl, unquote, urlsplit

from readback.keys import KEY_LIKE
from readback.probe.common.catalogue import current, diagnose, say
from readback.probe.common.results import Diagnosis

_MAX_LENGTH = 160
# Patterns search only this much of a server's response; the rest is not shown anyway.
_SEARCHED_LENGTH = 4096
# This pattern takes linear time, whatever a server sends.
_TITLE = re.compile("<title[^<>]*>([^<]*)</title>", re.IGNORECASE)
HIDDEN = "…"
# Shorter secrets are parts of many words; replacing them would spoil the report.
_SHORTEST = 6
_SHORTEST_PART = 4
_LONGEST_WORD = 20
_TOKEN = re.compile(r"(?:(?!\.\.)[^\s\"'“”‘’<>(){}\[\],;|&?=/])+")
_AROUND_TOKEN = ".:…*!"
# Possible secrets in Base64 or percent-encoding, and in hexadecimal.
_ENCODED = re.compile(r"[\w%+/.~-]{8,}={0,2}", re.ASCII)
_HEX = re.compile(r"\b[0-9a-f]{2}(?:[: -]?[0-9a-f]{2}){5,}\b", re.IGNORECASE)
# If this many characters of a long secret appear in a row, it is no coincidence.
_LONGEST_PART = 8
# What follows these words is hidden if it looks random: "Bearer authentication" stays.
_AFTER_NAME = re.compile(
    r"((?:bearer|basic|digest|negotiate|token|api[_-]?key|secret|passw(?:or)?d|pwd"
    r"|signature|session(?:id)?|cookie|credential|jwt)[\"']?(?:\s*[:=]\s*|\s+)[\"']?)"
    r"([^\s\"'<>,;]{6,})",
    re.IGNORECASE,
)
_URL = re.compile("https?://", re.IGNORECASE)
_FRAGMENT = re.compile("#.+")
_PATTERNS = (
    # A URL's login, then the values of its parameters, then its fragment.
    (re.compile(r"(?<=://)[^\s/?#\"'<>]*@"), ""),
    (re.compile(r"(?<=[?&;])([\w.~%-]+=)[^\s&;#\"'<>]+"), rf"\1{HIDDEN}"),
    # The pattern matches the whole rest of a URL, because searching for the # from each
    # :// would take quadratic time.
    (re.compile(r"://[^\s\"'<>]+"), lambda url: _FRAGMENT.sub(f"#{HIDDEN}", url[0])),
    (re.compile(r"eyJ[\w-]{8,}(?:\.[\w-]+)*"), HIDDEN),
    # Some services repeat a key with most of it replaced by asterisks. The pattern
    # begins at a word boundary; otherwise, a long string would take quadratic time.
    (re.compile(r"(?<![\w*-])[\w-]*\*{3,}[\w*-]*"), HIDDEN),
    (KEY_LIKE, "sk-…"),
    (re.compile(r"\b(?:gsk_|hf_|xai-|pplx-|gh[a-z]_|nvapi-|glpat-)[\w-]{12,}"), HIDDEN),
)


def format_duration(seconds: float) -> str:
    """Return a duration with about two significant digits and its unit."""
    milliseconds = seconds * 1000
    if milliseconds >= 1000:
        return say("seconds", number=decimal(f"{seconds:.1f}"))
    digits = 0 if milliseconds >= 10 else 1
    return say("milliseconds", number=decimal(f"{milliseconds:.{digits}f}"))


def decimal(number: str) -> str:
    return number.replace(".", ",") if current() == "ru" else number


def sanitize(text: str) -> str:
    """Return untrusted text as one line that is safe to show."""
    if len(text) > _SEARCHED_LENGTH:
        # The last word may be the beginning of a key, too short to be recognized.
        text = text[:_SEARCHED_LENGTH].rpartition(" ")[0] or text[: _MAX_LENGTH + 1]
    safe = printable(" ".join(without_credentials(text).split()))
    return safe if len(safe) <= _MAX_LENGTH else safe[: _MAX_LENGTH - 1] + "…"


def page_title(page: str) -> str:
    match = _TITLE.search(page)
    return sanitize(unescape(match[1])) if match else ""


def code_points(text: str) -> str:
    """Return characters as code points, each with its glyph if that is visible."""
    shown = []
    for c in text:
        is_hidden = unicodedata.combining(c) or c.isspace() or not c.isprintable()
        shown.append(f"U+{ord(c):04X}" if is_hidden else f"U+{ord(c):04X} {c}")
    return " ".join(shown) or say("nothing")


def without_credentials(text: str) -> str:
    for pattern, shown in _PATTERNS:
        text = pattern.sub(shown, text)
    return _AFTER_NAME.sub(
        lambda match: match[1] + (HIDDEN if _is_random(match[2]) else match[2]), text
    )


def printable(text: str) -> str:
    """Replace every character that a terminal would interpret."""
    return "".join(c if c.isprintable() else "�" for c in text)


class Redactor:
    """Replaces secrets with their masks, and hides whatever looks like a secret."""

    def __init__(self, masks: Mapping[str, str]) -> None:
        forms = {}
        for secret, mask in masks.items():
            # A server may repeat a secret in these forms.
            repeated = (secret, secret.strip(), unquote(secret))
            forms.update(dict.fromkeys(repeated, mask))
            if len(secret) >= _LONGEST_WORD:
                others = (secret[::-1], " ".join(secret))
                cases = (secret.upper(), secret.lower())
                forms.update(dict.fromkeys((*others, *cases), mask))
        self._masks = {}
        self._parts: set[str] = set()
        for form in sorted(forms, key=len, reverse=True):
            if len(form) < _SHORTEST:
                break
            # A secret that is a plain word is replaced only as a whole word.
            is_plain = form.isalpha() and form[1:].islower()
            is_word = is_plain and len(form) < _LONGEST_WORD
            pattern = re.escape(form)
            pattern = rf"(?<![\w-]){pattern}(?![\w-])" if is_word else pattern
            self._masks[form] = re.compile(pattern), forms[form]
            if not is_word:
                self._parts.update(_parts(form))

    def text(self, text: str) -> str:
        for encoded in (_HEX, _ENCODED):
            text = encoded.sub(lambda match: self._without_encoded(match[0]), text)
        for pattern, mask in self._masks.values():
            # A function, because `sub` would interpret backslashes in a string.
            text = pattern.sub(lambda _, mask=mask: mask, text)  # type: ignore[misc]
        # A service may repeat only a part of a secret.
        text = _TOKEN.sub(lambda match: self._without_part(match[0]), text)
        return printable(without_credentials(text))

    def _without_encoded(self, token: str) -> str:
        """Return the token, or a replacement if it contains an encoded secret."""
        for decoded in _decoded(token):
            is_same = decoded == token
            if not (is_same or self._parts.isdisjoint(_parts(decoded))):
                return HIDDEN
            words = () if is_same else decoded.split()
            if any(self._without_part(word) != word for word in words):
                return HIDDEN
        return token

    def _without_part(self, token: str) -> str:
        part = token.strip(_AROUND_TOKEN)
        if len(part) < _SHORTEST_PART:
            return token
        if token.endswith(HIDDEN) and any(
            form.startswith(part) for form in self._masks
        ):
            return HIDDEN
        is_part = _is_random(part) and any(part in form for form in self._masks)
        return token.replace(part, HIDDEN) if is_part else token


def _parts(text: str) -> set[str]:
    """Return every part of a string that is just too long to match by chance."""
    last = max(1, len(text) - _LONGEST_PART + 1)
    return {text[at : at + _LONGEST_PART] for at in range(last)}


def _decoded(token: str) -> Iterator[str]:
    """Yield the token decoded from percent-encoding, hexadecimal and Base64."""
    yield unquote(token)
    with suppress(ValueError):
        plain = re.sub("[: -]", "", token)
        yield bytes.fromhex(plain).decode("utf-8", "replace")
    with suppress(ValueError):
        plain = token.rstrip("=").replace("-", "+").replace("_", "/")
        plain = plain[: len(plain) // 4 * 4] if len(plain) % 4 == 1 else plain
        padded = plain + "=" * (-len(plain) % 4)
        yield base64.b64decode(padded).decode("utf-8", "replace")


def redacted(diagnosis: Diagnosis, redactor: Redactor) -> Diagnosis:
    """Return the diagnosis with credentials hidden in its facts and in its details."""
    facts = {
        name: redactor.text(fact) if isinstance(fact, str) else fact
        for name, fact in diagnosis.facts.items()
    }
    return replace(
        diagnose(diagnosis.id, figure="", **facts),
        figure=redactor.text(diagnosis.figure),
        details=tuple(map(redactor.text, diagnosis.details)),
        verdict=diagnosis.verdict,
        family=diagnosis.family,
    )


def secrets_in(url: str) -> Iterator[str]:
    """Yield a URL's secrets: its login, and values in its query and fragment."""
    before, at, _ = url.rpartition("://")[2].rpartition("@")
    if at:
        # Split at the last @, because a slash in a password seems to end the host part.
        yield from (before, *before.split(":", 1))
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    for text in (parts.query, parts.fragment):
        for _, value in parse_qsl(text):
            # A URL inside a parameter is not secret, but may contain secrets.
            yield from secrets_in(value) if _URL.match(value) else (value,)


def _is_random(text: str) -> bool:
    """Return whether the string is unlikely to be a word or a number."""
    if re.search("[a-z][A-Z]|[A-Z]{2}[a-z]", text):
        return True
    return bool(re.search(r"\d", text) and re.search("[A-Za-z]", text))
