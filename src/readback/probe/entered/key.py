"""The step "key": finds the key in the pasted text and checks its form.

The checksum identifies a complete Readback key, whatever surrounds it. Another
service's key cannot be verified, and need not be a mistake, because it is not yet known
which service responds. Only text that is certainly not part of such a key is removed. A
`Secret` is sent in a request header and appears nowhere else.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable
from getpass import getpass

from readback import keys
from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.entered import PROVIDERS
from readback.probe.entered.base_url import QUOTES, remove_invisible, say_around

_MASKED = re.compile(r"[•●∙◦○…⋯█■▪]|\*{2,}|\.{3,}")
_VARIABLE = re.compile(r"\$[\w({]|%\w+%$|\{\{|\{\w+\}$|process\.env|os\.environ")
_OUR_PREFIX = re.compile(f"(?<![a-z0-9]){keys.PREFIX}", re.IGNORECASE)
_OUR_KEY = re.compile(rf"{keys.PREFIX}[0-9A-Za-z]{{{keys.LENGTH - len(keys.PREFIX)}}}")
_END = re.compile("[\\s\"'<>,;]")
_SENDABLE = re.compile("[!-~]+")
# Many times any key's length; the limit is for endless devices such as /dev/zero.
_MAX_FILE_BYTES = 65_536
# Long enough to search a settings file for a Readback key.
_SEARCHED_LENGTH = 50_000
# A token with many claims may have 9 KB, but no common server accepts this much.
_MAX_KEY_LENGTH = 16_384
_PLACEHOLDER = re.compile(
    r"https?:|(sk-)?x{4,}$|(none|null|undefined)$|your|change.?me|replace|placeholder",
    re.IGNORECASE,
)
_PLAIN_WORD = re.compile("[a-z]{0,12}(?:-[a-z]{1,12})?")
_AROUND = QUOTES + "<>()[]{}\\"
# Text that is certainly not part of another service's key: the name of a setting or
# header in front of it, the word Bearer, quotation marks and the like.
_IN_FRONT = re.compile(
    r"""(?:(?:export|setx?|env|const|let|var)\s+|\$env:|-H\s+|\{)?\s*["']?"""
    r"(?:[\w-]{0,60}(?:key|token|secret|authorization)[\w-]{0,60}[\"']?\s*(?:[:=]|\s)"
    r"\s*)?[\"']?\s*(?:bearer[\s:]+)*(?=\S)",
    re.IGNORECASE,
)


def check(secret: Secret) -> tuple[list[Diagnosis], Secret]:
    text = secret.reveal()
    found = find_readback_key(text)
    if not found:
        if len(text) > _MAX_KEY_LENGTH:
            raise ProbeError("key.invalid", reason=say("too_long", length=len(text)))
        found = unwrap(text)
        if any(map(_VARIABLE.match, (text.strip(), found))):
            raise ProbeError("key.invalid", reason=say("is_variable"))
        if not found:
            return [diagnose("key.absent", note=say("needs_any_key"))], Secret("")
        _refuse(found)
    key = Secret(found)
    is_ours = key.is_readback_key
    diagnoses = []
    if found != text:
        mistakes = say_around(text, found)
        diagnoses.append(diagnose("key.corrected", key=key.mask, mistakes=mistakes))
    elif is_ours:
        diagnoses.append(diagnose("key.ok", key=key.mask))
    if not is_ours:
        diagnoses.append(diagnose("key.foreign"))
    return diagnoses, key


def _refuse(text: str) -> None:
    """Raise `ProbeError` if the text cannot be any service's key."""
    begin = _OUR_PREFIX.search(text)
    key = _END.split(text[begin.start() :], maxsplit=1)[0] if begin else text
    if _MASKED.search(key) and not re.search(r"\s", key):
        raise ProbeError("key.invalid", reason=say("is_mask"))
    if bad := next((c for c in key if not _SENDABLE.fullmatch(c)), ""):
        named = f"U+{ord(bad):04X} {unicodedata.name(bad, '')}".rstrip()
        reason = say("contains_character", character=named)
        raise ProbeError("key.invalid", reason=reason)
    if begin:
        reason = say("has_typo")
        if len(key) != keys.LENGTH:
            reason = say("has_wrong_length", length=len(key), expected=keys.LENGTH)
        raise ProbeError("key.invalid", reason=reason)


class Secret:
    """A key that appears neither in printed output nor in a traceback."""

    def __init__(self, text: str) -> None:
        self._text = text
        repeated = (text, text.strip(), unwrap(text))
        # Keys for local servers are often plain words that the report may also contain.
        hidden = (form for form in repeated if not _PLAIN_WORD.fullmatch(form))
        self.masks = dict.fromkeys(hidden, "[key]")
        """The forms in which the key could appear, each with the mask to show."""
        if found := find_readback_key(text):
            self.masks[found] = keys.masked(keys.last_characters(found))

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return self.mask

    @property
    def is_readback_key(self) -> bool:
        """Whether this is exactly a Readback key, with the right checksum."""
        return keys.why_invalid(self._text.encode("utf-8", "replace")) is None

    @property
    def is_placeholder(self) -> bool:
        """Whether this is an example or an address; some servers accept even those."""
        return _PLACEHOLDER.match(self._text) is not None

    @property
    def provider(self) -> str:
        """The host of the provider whose keys begin like this one, or ""."""
        prefixes = ((host, start) for host, start in PROVIDERS.items() if start)
        return next(
            (host for host, start in prefixes if self._text.startswith(start)), ""
        )

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


def find_readback_key(text: str) -> str:
    """Return the first complete Readback key in the text, or ""."""
    plain = remove_invisible(text[:_SEARCHED_LENGTH])
    for searched in (plain, re.sub(r"[=\\]?\s+", "", plain)):
        for found in _OUR_KEY.findall(searched):
            if keys.why_invalid(found.encode()) is None:
                return str(found)
    return ""


def unwrap(text: str) -> str:
    """Return the key without other copied text, such as quotation marks."""
    cut = text[:_MAX_KEY_LENGTH]
    rest = re.sub(r"(?:\\[nrt])+$", "", remove_invisible(cut).strip())
    rest = rest.strip(_AROUND).strip()
    if match := _IN_FRONT.match(rest):
        rest = rest[match.end() :]
    return rest.rstrip(",;").strip(_AROUND).strip()


def key_from_file(name: str) -> str:
    if name != "-":
        with open(name, "rb") as file:
            return _decoded(file.read(_MAX_FILE_BYTES))
    return _decoded(sys.stdin.buffer.read(_MAX_FILE_BYTES)) if sys.stdin else ""


def key_from_environment_or_prompt(variables: Iterable[str]) -> str:
    """Return the key from a variable or a prompt, or "" if neither has one."""
    found = [os.environ[name] for name in variables if name in os.environ]
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
