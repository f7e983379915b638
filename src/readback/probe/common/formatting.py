"""How durations, characters and text from the network are written in a report.

Everything received from the network passes through `sanitize` before it is shown: it
removes control characters that a terminal would interpret and anything that looks like
a credential, and it limits the length. What the run knows to be secret is removed from
the finished report (`common.redaction`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from readback.probe.common.redaction import printable, without_credentials

_MAX_LENGTH = 160
# The pattern needs linear time, whatever a peer sends.
_TITLE = re.compile(rb"<title[^<>]*>([^<]*)</title>", re.IGNORECASE)


def format_duration(seconds: float) -> str:
    """Return a duration with about two significant digits and its unit."""
    milliseconds = seconds * 1000
    if milliseconds >= 1000:
        return f"{seconds:.1f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def format_offset(seconds: float) -> str:
    """Return a difference between two clocks in the largest unit that fits."""
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{seconds:.0f} seconds"


def sanitize(text: str) -> str:
    """Return untrusted text as one line that is safe to show."""
    safe = printable(" ".join(without_credentials(text).split()))
    return safe if len(safe) <= _MAX_LENGTH else safe[: _MAX_LENGTH - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """Return names as a person would write them: "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def page_title(page: bytes) -> str:
    """Return the title of a web page, safe to show, or "" if it has none."""
    match = _TITLE.search(page)
    return sanitize(match[1].decode("utf-8", "replace")) if match else ""


def code_points(text: str) -> str:
    """Return characters as code points, each with its glyph if that is visible."""
    shown = []
    for one in text:
        hidden = unicodedata.combining(one) or one.isspace() or not one.isprintable()
        shown.append(f"U+{ord(one):04X}" if hidden else f"U+{ord(one):04X} {one}")
    return " ".join(shown) or "nothing"
