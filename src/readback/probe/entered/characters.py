"""Characters that cannot be seen, or that only look like others, in pasted text."""

from __future__ import annotations

import unicodedata

# Straight and typographic quotation marks, guillemets, primes, and the backtick.
QUOTES = "\"'`‘’‚‛“”„‟«»‹›′″＂＇「」『』"
DASHES = "‐‑‒–—―−﹘﹣－"
# These have a visible category or none, but no glyph; then variation selectors.
_BLANKS = {
    *"\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0",
    *map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]),
}


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


def as_ascii(text: str) -> str:
    """Return the text with full-width and similar forms of ASCII replaced."""
    if text.isascii():
        return text
    forms = ((one, unicodedata.normalize("NFKC", one)) for one in text)
    plain = "".join(
        new if new.isascii() and len(new) == 1 else one for one, new in forms
    )
    return plain.replace("。", ".")


def foreign_letter(text: str) -> str:
    """Return the first letter of the text that is not ASCII, or ""."""
    return next((one for one in text if one.isalpha() and not one.isascii()), "")


def script_of(character: str) -> str:
    """Return the script in the Unicode name of a character, such as "Cyrillic"."""
    name = unicodedata.name(character, "unknown")
    return name.replace("FULLWIDTH", "FULL-WIDTH").partition(" ")[0].capitalize()
