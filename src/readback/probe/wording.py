"""How numbers, characters and strangers' texts are written in a report.

Whatever comes from the network is made harmless here before it is shown: no control
characters that a terminal obeys, nothing that looks like a key, not too long.
"""

import re
import unicodedata

_KEY_LIKE = re.compile(r"sk-[\w-]{6,}", re.ASCII)
_LONGEST = 160


def milliseconds(seconds: float) -> str:
    """Write a duration with two digits that matter."""
    value = seconds * 1000
    if value >= 1000:
        return f"{seconds:.1f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def seconds(value: float) -> str:
    return f"{value:g}"


def without_keys(text: str) -> str:
    """Remove everything that has the form of a key, ours or another service's."""
    return _KEY_LIKE.sub("sk-…", text)


def foreign(text: str) -> str:
    """Make a text from elsewhere fit to be shown on one line."""
    line = " ".join(without_keys(text).split())
    safe = "".join(c if c.isprintable() else "�" for c in line)
    return safe if len(safe) <= _LONGEST else safe[: _LONGEST - 1] + "…"


def code_points(text: str) -> str:
    """Write characters as code points, with the glyph where it stands by itself."""
    return " ".join(map(_code_point, text)) or "nothing"


def _code_point(character: str) -> str:
    number = f"U+{ord(character):04X}"
    alone = character.isprintable() and not unicodedata.combining(character)
    return f"{number} {character}" if alone and not character.isspace() else number
