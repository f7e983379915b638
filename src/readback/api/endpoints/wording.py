"""How a detail names fields and values: it never quotes the text, nor a key.

Details become a header, so everything here returns printable ASCII.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from readback.api.endpoints.strict_json import Number
from readback.keys import KEY_LIKE

# Field names and model ids are quoted only if they have this form.
_QUOTABLE = re.compile(r"[A-Za-z0-9_.:/-]{1,40}")
_MAX_QUOTED_DIGITS = 20
# How much of a long list of names is written out.
_MAX_LISTED_LENGTH = 200


def is_quotable(word: Any) -> bool:
    is_string = isinstance(word, str) and not isinstance(word, Number)
    return is_string and bool(_QUOTABLE.fullmatch(word)) and not KEY_LIKE.search(word)


def kind(value: Any) -> str:
    """Return what kind of value it is, without quoting it."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Number):
        return str(value) if len(value) <= _MAX_QUOTED_DIGITS else "a number"
    if isinstance(value, str):
        return f"a string of {_characters(value)}"
    return "an array" if isinstance(value, list) else "an object"


def fields(names: Sequence[str], path: str = "") -> str:
    """Return the subject of a sentence about fields: "The field temperature"."""
    if len(names) > 1:
        several = listed(names, path)
        return f"The fields {several}" if any(map(is_quotable, names)) else several
    if is_quotable(names[0]):
        return f"The field {path}{names[0]}"
    where = f"of {path[:-1]} " if path else ""
    return f"A field {where}with a name of {_characters(names[0])}"


def listed(names: Sequence[str], path: str = "") -> str:
    """Return names as a list in words, and count those that are not quoted."""
    shown: list[str] = []
    for name in filter(is_quotable, names):
        if len(", ".join([*shown, path + name])) > _MAX_LISTED_LENGTH:
            break
        shown.append(path + name)
    if left := len(names) - len(shown):
        shown.append(f"{left} more" if shown else _more_fields(left))
    return joined(shown)


def joined(words: Sequence[str]) -> str:
    """Return words as in a sentence: "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def _more_fields(number: int) -> str:
    return "another field" if number == 1 else f"{number} other fields"


def _characters(text: str) -> str:
    return "1 character" if len(text) == 1 else f"{len(text)} characters"
