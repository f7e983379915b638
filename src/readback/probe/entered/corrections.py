"""Corrects pasted text: characters that cannot be seen or only look right, patterns.

A correction is a function from text to text. It belongs to the id of the diagnosis
that is reported if it has changed something. Nothing here knows addresses or keys.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

# Every correction shortens or normalizes the text, so a few rounds are enough.
_MAX_ROUNDS = 30
# Straight and typographic quotation marks, guillemets, primes; not the backtick.
QUOTES = "\"'‘’‚‛“”„‟«»‹›′″＂＇「」『』"
BRACKETS = "()[]{}<>（）［］【】〈〉《》"
DASHES = "‐‑‒–—―−﹘﹣－"

# These have a visible category or none, but no glyph; then variation selectors.
_BLANKS = {
    *"\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0",
    *map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]),
}

# Each letter with the ASCII letter below it that looks the same in common fonts.
_LOOK_ALIKES = str.maketrans(
    # Cyrillic
    "асеһіјкорԛѕԝхуѵԁӏАВСЕНІЈКМОРЅТХУѴ"
    # Greek
    "ανορικυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
    # Armenian
    "օոսհցյՕՍ"
    # Latin letters beyond ASCII
    "ıɑɡʋɩᴄᴏᴠᴡᴢꜱ",
    "acehijkopqswxyvdlABCEHIJKMOPSTXYVavopikuxABEZHIKMNOPTYXonuhgjOUiagvicovwzs",
)
_FULL_STOPS = str.maketrans("。｡", "..")


class Correction(NamedTuple):
    id: str
    change: Callable[[str], str]


def replacing(
    id: str,
    pattern: str,
    replacement: str | Callable[[re.Match[str]], str] = "",
    flags: re.RegexFlag = re.IGNORECASE,
) -> Correction:
    """Return a correction that replaces what the pattern matches."""
    compiled = re.compile(pattern, flags)
    return Correction(id, lambda text: compiled.sub(replacement, text))


def correct(text: str, rows: Iterable[Correction]) -> tuple[str, dict[str, str]]:
    """Return the corrected text and, by diagnosis id, what it was before."""
    rows = tuple(rows)
    mistakes: dict[str, str] = {}
    for _ in range(_MAX_ROUNDS):
        start = text
        for id, change in rows:
            changed = change(text)
            if changed != text:
                mistakes.setdefault(id, text)
                text = changed
        if text == start:
            break
    return text, mistakes


def without_implied(
    mistakes: Iterable[str], implied: Mapping[str, Iterable[str]]
) -> list[str]:
    """Return the ids without those that are only a part of another mistake."""
    found = list(dict.fromkeys(mistakes))
    parts = {part for id in found for part in implied.get(id, ())}
    return [id for id in found if id not in parts]


def is_invisible(character: str) -> bool:
    """Return whether a character has no width: format, control, filler and the like."""
    if character.isspace():
        return False
    return character in _BLANKS or unicodedata.category(character) in ("Cf", "Cc")


def remove_invisible(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(one for one in text if not is_invisible(one))


def invisible_in(text: str) -> str:
    """Return the code points of the first few different invisible characters."""
    found = dict.fromkeys(filter(is_invisible, text))
    return ", ".join(f"U+{ord(one):04X}" for one in list(found)[:3])


def replace_look_alikes(text: str) -> str:
    """Return the text with letters and signs replaced by the ASCII ones they resemble.

    Full-width and mathematical letters are compatibility forms of the ASCII ones.
    """
    if text.isascii():
        return text
    folded = ""
    for one in text:
        form = unicodedata.normalize("NFKC", one)
        is_ascii = len(form) == 1 and form.isascii() and not form.isspace()
        folded += form if is_ascii else one
    return folded.translate(_LOOK_ALIKES).translate(_FULL_STOPS)


def foreign_letter(text: str) -> str:
    """Return the first letter of the text that is not ASCII, or ""."""
    return next((one for one in text if one.isalpha() and not one.isascii()), "")


def script_of(character: str) -> str:
    """Return the script in the Unicode name of a character, such as "Cyrillic"."""
    name = unicodedata.name(character, "unknown")
    return name.replace("FULLWIDTH", "FULL-WIDTH").partition(" ")[0].capitalize()
