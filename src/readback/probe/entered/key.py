"""The step "key": finds the key in what was pasted, and checks its form.

A whole Readback key is proved by its checksum, whatever surrounds it. A key of another
service cannot be proved, and is not a mistake: which service responds at the address is
not known yet. So only what certainly does not belong to it is removed. A `Secret` is
sent in a request header and appears nowhere else. Nothing is sent from here.
"""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Callable, Iterator
from getpass import getpass
from typing import NamedTuple
from urllib.parse import unquote

from readback import keys
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.diagnoses.entered import KEY
from readback.probe.entered.corrections import (
    BRACKETS,
    DASHES,
    QUOTES,
    Correction,
    correct,
    foreign_letter,
    invisible_in,
    remove_invisible,
    replace_look_alikes,
    replacing,
    script_of,
    without_implied,
)

_MASKED = re.compile(r"[•●∙◦○…⋯█■▪]|\*{2,}|\.{3,}")
_VARIABLE = re.compile(r"\$[\w({]|%\w+%$|\{\{|\{\w+\}$|process\.env|os\.environ")
_OUR_PREFIX = re.compile(f"(?<![a-z0-9]){keys.PREFIX}", re.IGNORECASE)
_END = re.compile("[\\s\"'<>,;]")
_SENDABLE = re.compile("[!-~]+")
# Many times as long as any key; a device such as /dev/zero has no end.
_MAX_FILE_BYTES = 65_536
# Enough for a file of settings, in which a Readback key is searched.
_SEARCHED_LENGTH = 50_000
# More does not fit into the request headers that servers accept.
_MAX_KEY_LENGTH = 8000
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
_HYPHENS = str.maketrans(dict.fromkeys(DASHES, "-"))

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


def check(secret: Secret) -> tuple[list[Diagnosis], Secret]:
    """Return what is wrong with a pasted key, and the key alone."""
    text = secret.reveal()
    if found := find_readback_keys(text):
        key = Secret(found.keys[0])
        return _diagnose(found, key) or [diagnose("key.ok", key=key.mask)], key
    if len(text) > _MAX_KEY_LENGTH:
        raise ProbeError("key.unsendable", problem=f"{len(text)} characters")
    if _VARIABLE.match(text.strip()):
        raise ProbeError("key.variable")
    rest = unwrap(text)
    if not rest.keys[0]:
        return [diagnose("key.absent")], Secret("")
    _refuse(rest.keys[0])
    key = Secret(rest.keys[0])
    return [*_diagnose(rest, key), diagnose("key.foreign")], key


def _diagnose(found: PastedKey, key: Secret) -> list[Diagnosis]:
    # The table lists the most important mistakes first.
    return [
        diagnose(
            id,
            key=key.mask,
            count=len(found.keys),
            **(_FACTS[id](found.mistakes[id]) if id in _FACTS else {}),
        )
        for id in sorted(found.mistakes, key=list(KEY).index)
    ]


_FACTS: dict[str, Callable[[str], dict[str, str]]] = {
    "key.invisible": lambda text: {"characters": invisible_in(text)},
    "key.letters": lambda text: {
        "script": next(
            script_of(one)
            for one in text
            if replace_look_alikes(one) != one and one not in DASHES
        )
    },
}


def _refuse(text: str) -> None:
    """Raise `ProbeError` if this cannot be a key of any service."""
    if _MASKED.search(text) and not re.search(r"\s", text):
        raise ProbeError("key.mask")
    if _VARIABLE.match(text):
        raise ProbeError("key.variable")
    # Look-alikes are replaced one by one, so places in the text stay the same.
    plain = replace_look_alikes(text.translate(_HYPHENS))
    if begin := _OUR_PREFIX.search(plain):
        raise _wrong_readback_key(text[begin.start() :])
    if _SENDABLE.fullmatch(text):
        return
    letter = foreign_letter(text)
    script = f" ({script_of(letter)})" if letter else ""
    problem = f"a character outside ASCII{script}"
    if re.search(r"\s", text):
        problem = "a line break" if re.search("[\r\n]", text) else "a space"
    raise ProbeError("key.unsendable", problem=problem)


def _wrong_readback_key(text: str) -> ProbeError:
    """Return the error for a text that begins like a Readback key but is none."""
    joined = "".join(text.split())
    key = joined if len(joined) == keys.LENGTH else _END.split(text, maxsplit=1)[0]
    reason = str(keys.why_invalid(key.encode("ascii", "replace")))
    letter = foreign_letter(key)
    script = {"script": script_of(letter)} if letter else {}
    if _MASKED.search(key):
        id = "key.mask"
    elif letter:
        id = "key.script"
    elif len(key) != keys.LENGTH:
        id = "key.cut" if len(key) < keys.LENGTH else "key.long"
    # 38 random letters and digits contain small and capital letters.
    elif key in (key.lower(), key.upper()):
        id = "key.one_case"
    else:
        rest = key[len(keys.PREFIX) :]
        id = "key.typo" if set(rest) <= set(keys.ALPHABET) else "key.characters"
    return ProbeError(id, reason=reason, **script)


class Secret:
    """A key that appears neither in printed output nor in a traceback."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.masks = dict.fromkeys((text, text.strip(), *unwrap(text).keys), "[key]")
        """The forms in which the key could be shown, and what to show instead."""
        if found := find_readback_keys(text):
            for key in found.keys:
                self.masks[key] = keys.masked(keys.last_characters(key))

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


class PastedKey(NamedTuple):
    keys: list[str]
    """The different keys; only Readback keys can be told apart from other text."""
    mistakes: dict[str, str]
    """The ids of what was wrong, each with the text before it was corrected."""


_Reading = tuple[str, dict[str, str]]
"""One way to read the pasted text, and the mistakes that it assumes."""


def find_readback_keys(text: str) -> PastedKey | None:
    """Return the whole Readback keys in the text, or None if there is none."""
    for plain, mistakes in _readings(text[:_SEARCHED_LENGTH]):
        spans = []
        for match in _SPACED_KEY.finditer(plain):
            key = re.sub(r"[\s=\\]", "", match[1])
            if keys.why_invalid(key.encode()) is None:
                spans.append((*match.span(1), key))
        if spans:
            return _describe(plain, mistakes, spans)
    return None


def unwrap(text: str) -> PastedKey:
    """Return what is left of the text without what surrounds a key."""
    rest, mistakes = correct(text[:_MAX_KEY_LENGTH], _AROUND_FOREIGN)
    ids = without_implied(mistakes, _IMPLIED)
    return PastedKey([rest], {id: mistakes[id] for id in ids})


def _readings(text: str) -> Iterator[_Reading]:
    """Yield the text as it is, then with more and more of it corrected."""
    reading = _changed((text, {}), "key.invisible", remove_invisible(text))
    if _PERCENT.search(reading[0]):
        reading = _changed(reading, "key.percent_encoded", unquote(reading[0]))
    yield reading
    for match in _BASE64.finditer(reading[0]):
        word = match[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            plain = base64.b64decode(word + "=" * (-len(word) % 4)).decode("ascii")
        except ValueError:
            continue
        yield _changed(reading, "key.base64", reading[0].replace(match[0], plain))
    hyphens = reading[0].translate(_HYPHENS)
    reading = _changed(reading, "key.dash", hyphens)
    reading = _changed(reading, "key.letters", replace_look_alikes(hyphens))
    yield reading
    yield _changed(reading, "key.case", _PREFIX.sub(keys.PREFIX, reading[0]))
    yield _changed(reading, "key.case", reading[0].swapcase())


def _changed(reading: _Reading, id: str, text: str) -> _Reading:
    before, mistakes = reading
    return reading if text == before else (text, {**mistakes, id: before})


def _describe(
    text: str, assumed: dict[str, str], spans: list[tuple[int, int, str]]
) -> PastedKey:
    found = list(dict.fromkeys(key for _, _, key in spans))
    mistakes = dict(assumed)
    if any(end - start > keys.LENGTH for start, end, _ in spans):
        mistakes["key.broken"] = ""
    if len(found) > 1:
        mistakes["key.several"] = ""
        return PastedKey(found, mistakes)
    if len(spans) > 1:
        mistakes["key.twice"] = ""
    first, last = spans[0][0], spans[-1][1]
    before = text[max(first - _AROUND_LENGTH, 0) : first]
    after = text[last : last + _AROUND_LENGTH]
    # Percent-encoding can also produce the marker.
    before, after = before.replace(_MARKER, " "), after.replace(_MARKER, " ")
    rest, around = correct(before + _MARKER + after, _AROUND)
    ids = without_implied(around, _IMPLIED)
    if rest != _MARKER:
        ids.append("key.extra" if _ATTACHED.search(rest) else "key.surrounded")
    return PastedKey(found, {**dict.fromkeys(ids, ""), **mistakes})


def key_from_file(name: str) -> str:
    """Return the key in this file, or from standard input if the name is "-"."""
    if name != "-":
        with open(name, "rb") as file:
            return _decoded(file.read(_MAX_FILE_BYTES))
    return _decoded(sys.stdin.buffer.read(_MAX_FILE_BYTES)) if sys.stdin else ""


def key_from_environment_or_prompt(variable: str | None) -> str:
    """Return the key from this variable, from a person, or "" if there is neither."""
    if variable is not None and variable in os.environ:
        return os.environ[variable]
    if not (sys.stdin and sys.stdin.isatty()):
        return ""
    try:
        return getpass("Key (hidden): ", sys.stderr)
    except UnicodeDecodeError as error:
        return _decoded(error.object)


def _decoded(data: bytes) -> str:
    # A text file ends with a newline; other whitespace is a mistake to report.
    text = data.decode("utf-8", "replace")
    return text.removesuffix("\n").removesuffix("\r")
