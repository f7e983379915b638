"""Lets a report be written to a console that does not use UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import TextIO

_SUBSTITUTES = {
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "…": "...",
    "–": "-",
    "—": "-",
    "→": "->",
    "·": "-",
    "×": "x",
    "✓": "+",
    "✗": "x",
}
_HANDLER = "readback.substitute"


def tolerate_encoding(stream: TextIO | None) -> None:
    """Write what the encoding of the stream lacks as something similar, or as "?"."""
    codecs.register_error(_HANDLER, _substitute)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=_HANDLER)


def _substitute(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(_SUBSTITUTES.get(one, "?") for one in missing), error.end
