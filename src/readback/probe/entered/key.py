"""The step "key": finds the key in what was pasted, and checks its form.

A whole Readback key is proved by its checksum, whatever surrounds it. A key of another
service cannot be proved, and is not a mistake: which service responds at the address is
not known yet. So only what certainly does not belong to it is removed. A `Secret` is
sent in a request header and appears nowhere else. Nothing is sent from here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from getpass import getpass
from typing import NamedTuple

from readback import keys
from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.entered.base_url import (
    DASHES,
    QUOTES,
    foreign_letter,
    invisible_in,
    remove_invisible,
    script_of,
)

_MASKED = re.compile(r"[•●∙◦○…⋯█■▪]|\*{2,}|\.{3,}")
_VARIABLE = re.compile(r"\$[\w({]|%\w+%$|\{\{|\{\w+\}$|process\.env|os\.environ")
_OUR_PREFIX = re.compile(f"(?<![a-z0-9]){keys.PREFIX}", re.IGNORECASE)
_OUR_KEY = re.compile(rf"{keys.PREFIX}[0-9A-Za-z]{{{keys.LENGTH - len(keys.PREFIX)}}}")
_END = re.compile("[\\s\"'<>,;]")
_SENDABLE = re.compile("[!-~]+")
# Many times as long as any key; a device such as /dev/zero has no end.
_MAX_FILE_BYTES = 65_536
# Enough for a file of settings, in which a Readback key is searched.
_SEARCHED_LENGTH = 50_000
# More does not fit into the request headers that servers accept.
_MAX_KEY_LENGTH = 8000
_PLAIN_WORD = re.compile("[a-z]{0,12}(?:-[a-z]{1,12})?")
_HEADER = re.compile(r"bearer|authorization|api-key", re.IGNORECASE)
_AROUND = QUOTES + "<>()[]{}\\"
# What certainly does not belong to a key of another service: the name of a setting or
# header in front of it, the word Bearer, quotation marks and the like.
_IN_FRONT = re.compile(
    r"""(?:(?:export|setx?|env|const|let|var)\s+|\$env:|-H\s+|\{)?\s*["']?"""
    r"(?:[\w-]{0,60}(?:key|token|secret|authorization)[\w-]{0,60}[\"']?\s*(?:[:=]|\s)"
    r"\s*)?[\"']?\s*(?:bearer[\s:]+)*(?=\S)",
    re.IGNORECASE,
)


def check(secret: Secret) -> tuple[list[Diagnosis], Secret]:
    """Return what is wrong with a pasted key, and the key alone."""
    text = secret.reveal()
    found = find_readback_key(text)
    if found is None:
        if len(text) > _MAX_KEY_LENGTH:
            count = say("count_characters", count=len(text))
            raise ProbeError("key.unsendable", problem=count)
        if _VARIABLE.match(text.strip()):
            raise ProbeError("key.variable")
        found = unwrap(text)
        if not found.key:
            return [diagnose("key.absent")], Secret("")
        _refuse(found.key)
    key = Secret(found.key)
    is_ours = key.is_readback_key
    diagnoses = []
    if found.mistakes:
        said = "; ".join(found.mistakes)
        diagnoses.append(diagnose("key.corrected", mistakes=said, key=key.mask))
    elif is_ours:
        diagnoses.append(diagnose("key.ok", key=key.mask))
    if not is_ours:
        diagnoses.append(diagnose("key.foreign"))
    return diagnoses, key


def _refuse(text: str) -> None:
    """Raise `ProbeError` if this cannot be a key of any service."""
    if _MASKED.search(text) and not re.search(r"\s", text):
        raise ProbeError("key.mask")
    if _VARIABLE.match(text):
        raise ProbeError("key.variable")
    if begin := _OUR_PREFIX.search(text):
        raise _wrong_readback_key(text[begin.start() :])
    if _SENDABLE.fullmatch(text):
        return
    problem = say("character_outside_ascii")
    if letter := foreign_letter(text):
        script = script_of(letter)
        problem = say("another_script", script=script)
    elif any(one in DASHES for one in text):
        problem = say("dash_instead_hyphen")
    elif re.search(r"\s", text):
        problem = say("space_line_break")
    raise ProbeError("key.unsendable", problem=problem)


def _wrong_readback_key(text: str) -> ProbeError:
    """Return the error for a text that begins like a Readback key but is none."""
    key = _END.split(text, maxsplit=1)[0]
    if _MASKED.search(key):
        return ProbeError("key.mask")
    if letter := foreign_letter(key):
        script = script_of(letter)
        reason = say("contains_another_script", script=script)
    elif len(key) < keys.LENGTH:
        facts = {"length": len(key), "expected": keys.LENGTH}
        reason = say("is_incomplete", **facts)
    elif len(key) > keys.LENGTH:
        facts = {"length": len(key), "expected": keys.LENGTH}
        reason = say("key_is_too_long", **facts)
    # 38 random letters and digits contain small and capital letters.
    elif key in (key.lower(), key.upper()):
        reason = say("one_case")
    elif set(key[len(keys.PREFIX) :]) <= set(keys.ALPHABET):
        reason = say("has_typo")
    else:
        reason = say("contains_other_character")
    return ProbeError("key.invalid", reason=reason)


class Secret:
    """A key that appears neither in printed output nor in a traceback."""

    def __init__(self, text: str) -> None:
        self._text = text
        repeated = (text, text.strip(), unwrap(text).key)
        # Local servers take any word, such as ollama, which may also be their host.
        hidden = (one for one in repeated if not _PLAIN_WORD.fullmatch(one))
        self.masks = dict.fromkeys(hidden, "[key]")
        """The forms in which the key could be shown, and what to show instead."""
        if found := find_readback_key(text):
            self.masks[found.key] = keys.masked(keys.last_characters(found.key))

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
            return say("none")
        if not self.is_readback_key:
            return say("not_readback_key")
        return keys.masked(keys.last_characters(self._text))

    def reveal(self) -> str:
        """Return the key itself; use it only in a request header."""
        return self._text


class PastedKey(NamedTuple):
    key: str
    mistakes: list[str]
    """What was wrong, as it is told."""


def find_readback_key(text: str) -> PastedKey | None:
    """Return the first whole Readback key in the text, or None if there is none."""
    plain = remove_invisible(text[:_SEARCHED_LENGTH])
    mistakes = []
    if plain != text[:_SEARCHED_LENGTH]:
        characters = invisible_in(text[:_SEARCHED_LENGTH])
        mistakes.append(say("invisible_characters", characters=characters))
    found = _valid_keys(plain)
    if not found:
        plain = re.sub(r"[=\\]?\s+", "", plain)
        found = _valid_keys(plain)
        mistakes.append(say("break_inside_key"))
    if not found:
        return None
    key = found[0]
    if len(set(found)) > 1:
        mistakes.append(say("different_keys", count=len(set(found))))
    elif len(found) > 1:
        mistakes.append(say("key_twice"))
    else:
        mistakes += _around(*plain.split(key, 1))
    return PastedKey(key, mistakes)


def _valid_keys(text: str) -> list[str]:
    found = _OUR_KEY.findall(text)
    return [one for one in found if keys.why_invalid(one.encode()) is None]


def _around(before: str, after: str) -> list[str]:
    """Return how to tell what is before and after a key."""
    text = before + after
    if not text:
        return []
    if not text.strip():
        return [say("spaces_around")]
    if _HEADER.search(before):
        return [say("header_before")]
    if not text.strip().strip(QUOTES + "\\"):
        return [say("quotes_around")]
    if "=" in before or ":" in before:
        return [say("setting_before")]
    return [say("other_text_around")]


def unwrap(text: str) -> PastedKey:
    """Return what is left of the text without what surrounds a key."""
    cut = text[:_MAX_KEY_LENGTH]
    rest = re.sub(r"(?:\\[nrt])+$", "", remove_invisible(cut).strip())
    rest = rest.strip(_AROUND).strip()
    if match := _IN_FRONT.match(rest):
        rest = rest[match.end() :]
    rest = rest.rstrip(",;").strip(_AROUND).strip()
    if not rest or rest == cut:
        return PastedKey(rest, [])
    return PastedKey(rest, _around(*cut.split(rest, 1)) if rest in cut else [])


def key_from_file(name: str) -> str:
    """Return the key in this file, or from standard input if the name is "-"."""
    if name != "-":
        with open(name, "rb") as file:
            return _decoded(file.read(_MAX_FILE_BYTES))
    return _decoded(sys.stdin.buffer.read(_MAX_FILE_BYTES)) if sys.stdin else ""


def key_from_environment_or_prompt(variables: Iterable[str]) -> str:
    """Return the key from a variable, from a person, or "" if there is neither."""
    found = [os.environ[one] for one in variables if one in os.environ]
    if found:
        return next(filter(None, found), "")
    if not (sys.stdin and sys.stdin.isatty()):
        return ""
    try:
        return getpass(say("key_prompt") + " ", sys.stderr)
    except UnicodeDecodeError as error:
        return _decoded(error.object)


def _decoded(data: bytes) -> str:
    # A text file ends with a newline; other whitespace is a mistake to report.
    text = data.decode("utf-8", "replace")
    return text.removesuffix("\n").removesuffix("\r")
