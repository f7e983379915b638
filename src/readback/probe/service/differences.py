"""Compares the returned text with the text sent and finds the likely cause. Pure.

Each candidate cause predicts what it would have made of the text; only an exact match
with the returned text counts.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from readback.probe.common.formatting import code_points

_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# Encodings in which UTF-8 is commonly misread.
_CHARSETS = ("cp1252", "latin-1", "cp1251", "koi8-r", "cp437", "cp866", "mac-roman")
_SMART = str.maketrans(
    dict.fromkeys('"“”„«»', '"') | dict.fromkeys("'‘’‚", "'") | {"–": "-", "—": "-"}
)
_LINE_END = re.compile("\r\n|\r|\n")
_MAX_SHOWN = 4
_EQUAL = 2


class TextChange(NamedTuple):
    """The id of a diagnosis, and the detail that its sentence needs."""

    id: str
    cause: str = ""


def likely_cause(sent: str, received: str) -> TextChange:
    """Return the likely cause of a difference."""
    return next(_causes(sent, received), TextChange("echo.changed"))


def first_difference(sent: str, received: str) -> str:
    """Describe the first difference, with its code points."""
    at = _first_index(sent, received)
    byte = len(sent[:at].encode("utf-8", "surrogatepass"))
    expected, actual = _until_equal(sent[at:], received[at:])
    return (
        f"character {at + 1} (byte {byte + 1}), "
        f"sent {code_points(expected)}, received {code_points(actual)}"
    )


def _causes(sent: str, received: str) -> Iterator[TextChange]:
    if received and sent.startswith(received):
        yield TextChange("echo.truncated")
    for form in _FORMS:
        if received == unicodedata.normalize(form, sent):  # type: ignore[arg-type]
            yield TextChange("echo.normalised", form)
    if charset := _charset(sent, received):
        yield TextChange("echo.charset", charset)
    if _LINE_END.sub("\n", received) == _LINE_END.sub("\n", sent):
        yield TextChange("echo.line_ends", _line_ends(received))
    if received == sent.strip() or received == sent.strip("\0\ufeff" + " \t\r\n\v\f"):
        yield TextChange("echo.trimmed")
    if received == _without_hidden(sent):
        yield TextChange("echo.controls")
    if received != sent and html.unescape(received) == sent:
        yield TextChange("echo.escaped")
    if _straighten_quotes(received) == _straighten_quotes(sent):
        yield TextChange("echo.smart_quotes")


def _charset(sent: str, received: str) -> str:
    raw = sent.encode("utf-8", "surrogatepass")
    for charset in _CHARSETS:
        if received in {raw.decode(charset, how) for how in ("replace", "ignore")}:
            return f"UTF-8 was read as {charset}"
    # "?" and U+FFFD are usual replacements for characters that cannot be encoded.
    for replacement in ("?", "\ufffd", ""):
        if received == "".join(c if c.isascii() else replacement for c in sent):
            return "characters outside ASCII were lost"
        if received == "".join(c if ord(c) <= 0xFFFF else replacement for c in sent):
            return "characters beyond U+FFFF were lost"
    if "\ufffd" in received and "\ufffd" not in sent:
        return "bytes that are not UTF-8 were replaced"
    return ""


def _line_ends(received: str) -> str:
    kinds = {"\r\n": "CR LF", "\r": "CR", "\n": "LF"}
    left = {kinds[end] for end in _LINE_END.findall(received)}
    return f"only {left.pop()} remains" if len(left) == 1 else "mixed"


def _without_hidden(text: str) -> str:
    hidden = ("Cc", "Cf")
    keep = "\t\n\r"
    return "".join(
        c for c in text if c in keep or unicodedata.category(c) not in hidden
    )


def _straighten_quotes(text: str) -> str:
    return text.replace("…", "...").replace("--", "—").translate(_SMART)


def _first_index(sent: str, received: str) -> int:
    pairs = zip(sent, received)
    shorter = min(len(sent), len(received))
    return next((at for at, (a, b) in enumerate(pairs) if a != b), shorter)


def _until_equal(sent: str, received: str) -> tuple[str, str]:
    """Cut both texts at the nearest point where they agree again, or after a few."""
    sizes = product(range(_MAX_SHOWN + 1), repeat=2)
    for one, other in sorted(sizes, key=sum):
        if sent[one : one + _EQUAL] == received[other : other + _EQUAL]:
            return sent[:one], received[:other]
    return sent[:_MAX_SHOWN], received[:_MAX_SHOWN]
