"""What became of a text on the way, and what does such a thing. Pure.

Each cause is a guess that can be checked: it says what it would have made of the
text that was sent, and only an exact match counts.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from readback.probe.wording import code_points

_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# Read as one of these, UTF-8 becomes the usual garbage.
_CHARSETS = ("cp1252", "latin-1", "cp1251", "koi8-r", "cp437", "cp866", "mac-roman")
_SMART = str.maketrans(
    dict.fromkeys('"“”„«»', '"') | dict.fromkeys("'‘’‚", "'") | {"–": "-", "—": "-"}
)
_LINE_END = re.compile("\r\n|\r|\n")
_SHOWN = 4
_ALIKE = 2


class Change(NamedTuple):
    """A diagnosis' id, and the detail that it does not say by itself."""

    id: str
    cause: str = ""


def cause(sent: str, came: str) -> Change:
    """Name the likely cause of a difference."""
    return next(_causes(sent, came), Change("echo.changed"))


def first(sent: str, came: str) -> str:
    """Show the first difference as code points."""
    at = _first_index(sent, came)
    byte = len(sent[:at].encode("utf-8", "surrogatepass"))
    went, arrived = _until_alike(sent[at:], came[at:])
    return (
        f"at character {at + 1} (byte {byte + 1}), "
        f"sent {code_points(went)}, came {code_points(arrived)}"
    )


def _causes(sent: str, came: str) -> Iterator[Change]:
    if came and sent.startswith(came):
        yield Change("echo.truncated")
    for form in _FORMS:
        if came == unicodedata.normalize(form, sent):  # type: ignore[arg-type]
            yield Change("echo.normalised", form)
    if charset := _charset(sent, came):
        yield Change("echo.charset", charset)
    if _LINE_END.sub("\n", came) == _LINE_END.sub("\n", sent):
        yield Change("echo.line_ends", _line_ends(came))
    if came == sent.strip() or came == sent.strip("\0\ufeff" + " \t\r\n\v\f"):
        yield Change("echo.trimmed")
    if came == _visible(sent):
        yield Change("echo.controls")
    if came != sent and html.unescape(came) == sent:
        yield Change("echo.escaped")
    if _straight(came) == _straight(sent):
        yield Change("echo.smart_quotes")


def _charset(sent: str, came: str) -> str:
    raw = sent.encode("utf-8", "surrogatepass")
    for charset in _CHARSETS:
        if came in {raw.decode(charset, how) for how in ("replace", "ignore")}:
            return f"UTF-8 was read as {charset}"
    # Two characters that no sample holds stand for what could not be written.
    for lost in ("?", "\ufffd", ""):
        if came == "".join(c if c.isascii() else lost for c in sent):
            return "only ASCII was let through"
        if came == "".join(c if ord(c) <= 0xFFFF else lost for c in sent):
            return "no character beyond U+FFFF was let through"
    if "\ufffd" in came and "\ufffd" not in sent:
        return "bytes that are not UTF-8 were replaced"
    return ""


def _line_ends(came: str) -> str:
    kinds = {"\r\n": "CR LF", "\r": "CR", "\n": "LF"}
    left = {kinds[end] for end in _LINE_END.findall(came)}
    return f"only {left.pop()} is left" if len(left) == 1 else "mixed"


def _visible(text: str) -> str:
    hidden = ("Cc", "Cf")
    keep = "\t\n\r"
    return "".join(
        c for c in text if c in keep or unicodedata.category(c) not in hidden
    )


def _straight(text: str) -> str:
    return text.replace("…", "...").replace("--", "—").translate(_SMART)


def _first_index(sent: str, came: str) -> int:
    pairs = zip(sent, came, strict=False)
    shorter = min(len(sent), len(came))
    return next((at for at, (a, b) in enumerate(pairs) if a != b), shorter)


def _until_alike(sent: str, came: str) -> tuple[str, str]:
    """Cut two texts where they go on alike, as near as that is, or after a few."""
    sizes = product(range(_SHOWN + 1), repeat=2)
    for one, other in sorted(sizes, key=sum):
        if sent[one : one + _ALIKE] == came[other : other + _ALIKE]:
            return sent[:one], came[:other]
    return sent[:_SHOWN], came[:_SHOWN]
