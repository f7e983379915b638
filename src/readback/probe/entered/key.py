"""The step "key": reads the key, finds it in what was pasted, and checks its form.

Nothing is sent from here. A key of another service is not a mistake: which service
responds at the address is not known yet.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from getpass import getpass

from readback import keys
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.diagnoses.entered import KEY
from readback.probe.entered.corrections import (
    DASHES,
    foreign_letter,
    invisible_in,
    replace_look_alikes,
    script_of,
)
from readback.probe.entered.secret import (
    MAX_KEY_LENGTH,
    PastedKey,
    Secret,
    find_readback_keys,
    unwrap,
)

# The table lists the most important mistakes first.
_RANK = list(KEY)
_MASKED = re.compile(r"[•●∙◦○…⋯█■▪]|\*{2,}|\.{3,}")
_VARIABLE = re.compile(r"\$[\w({]|%\w+%$|\{\{|process\.env|os\.environ")
_OUR_PREFIX = re.compile(f"(?<![a-z0-9]){keys.PREFIX}", re.IGNORECASE)
_END = re.compile("[\\s\"'<>,;]")
_SENDABLE = re.compile("[!-~]+")
# Many times as long as any key; a device such as /dev/zero has no end.
_MAX_FILE_BYTES = 65_536


def check(secret: Secret) -> tuple[list[Diagnosis], Secret]:
    """Return what is wrong with a pasted key, and the key alone."""
    text = secret.reveal()
    if found := find_readback_keys(text):
        key = Secret(found.keys[0])
        return _diagnose(found, key) or [diagnose("key.ok", key=key.mask)], key
    if len(text) > MAX_KEY_LENGTH:
        raise ProbeError("key.unsendable", problem=f"{len(text)} characters")
    rest = unwrap(text)
    if not rest.keys[0]:
        return [diagnose("key.absent")], Secret("")
    _refuse(rest.keys[0])
    key = Secret(rest.keys[0])
    return [*_diagnose(rest, key), diagnose("key.foreign")], key


def _diagnose(found: PastedKey, key: Secret) -> list[Diagnosis]:
    return [
        diagnose(
            id,
            key=key.mask,
            count=len(found.keys),
            **(_FACTS[id](found.mistakes[id]) if id in _FACTS else {}),
        )
        for id in sorted(found.mistakes, key=_RANK.index)
    ]


def _look_alike(text: str) -> str:
    return next(
        one for one in text if replace_look_alikes(one) != one and one not in DASHES
    )


_FACTS: dict[str, Callable[[str], dict[str, str]]] = {
    "key.invisible": lambda text: {"characters": invisible_in(text)},
    "key.letters": lambda text: {"script": script_of(_look_alike(text))},
}


def _refuse(text: str) -> None:
    """Raise `ProbeError` if this cannot be a key of any service."""
    if _MASKED.search(text) and not re.search(r"\s", text):
        raise ProbeError("key.mask")
    if _VARIABLE.match(text):
        raise ProbeError("key.variable")
    # Look-alikes are replaced one by one, so places in the text stay the same.
    plain = replace_look_alikes(text.translate(dict.fromkeys(map(ord, DASHES), "-")))
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
    return ProbeError(_wrong_key_id(key), reason=reason, **script)


def _wrong_key_id(key: str) -> str:
    if _MASKED.search(key):
        return "key.mask"
    if foreign_letter(key):
        return "key.script"
    # 38 random letters and digits contain small and capital letters.
    if len(key) == keys.LENGTH and key in (key.lower(), key.upper()):
        return "key.one_case"
    if len(key) != keys.LENGTH:
        return "key.cut" if len(key) < keys.LENGTH else "key.long"
    rest = key[len(keys.PREFIX) :]
    return "key.typo" if set(rest) <= set(keys.ALPHABET) else "key.characters"


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
