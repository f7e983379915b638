"""Applies corrections to a text until none of them changes it any more.

A correction is a function from text to text. It belongs to the id of the diagnosis
that is reported if it has changed something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

# Every correction shortens or normalizes the text, so a few rounds are enough.
_MAX_ROUNDS = 30


class Correction(NamedTuple):
    id: str
    change: Callable[[str], str]


def replacing(
    id: str, pattern: str, replacement: str = "", flags: re.RegexFlag = re.IGNORECASE
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
