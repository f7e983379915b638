"""What surrounds a pasted address: spaces, quotes, Markdown, the name of a setting."""

from __future__ import annotations

import re
from urllib.parse import unquote

from readback.probe.common.results import ProbeError
from readback.probe.entered.characters import QUOTES, remove_invisible
from readback.probe.entered.corrections import Correction, replacing

_SCHEME = re.compile("https?://", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s,;|]+")
# Whitespace that only continues the address: around its separators, but not before
# another address.
_GAPS = re.compile(
    r"\s+(?=[/:])|(?<=/)\s+(?!https?:)|(?<=:)\s+(?=[\d/])", re.IGNORECASE
)
_END_OF_ADDRESS = re.compile(r"[\w.:-]+(?:/[\w-]+)*/v\d[\w/]*", re.IGNORECASE)
_ESCAPED_SPACE = re.compile(r"([^\\]*?)(?:\\[nrt])+")
_MARKDOWN_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^\s<>]*?)>?(?:\s+[^)]*)?\)")
_ENCODED = re.compile("[a-z]+%3a(?:%2f|/){2}", re.IGNORECASE)
# Whitespace, quotation marks and angle brackets.
_STRAY = "(?:%(?:0[9ad]|2[027]|3[ce]))+"
_ENCODED_ENDS = re.compile(f"^{_STRAY}|{_STRAY}$", re.IGNORECASE)
_OPENING, _CLOSING = "([{（［【〈《", ")]}）］】〉》"
_IP_LITERAL = re.compile(r"\[[0-9a-f:.]+(?:%[^\]]*)?\]", re.IGNORECASE)


def _remove_spaces(text: str) -> str:
    text = _GAPS.sub("", text.strip())
    if escaped := _ESCAPED_SPACE.fullmatch(text):
        text = escaped[1]
    if not _SCHEME.match(text):
        return text
    # An address that a line break divides before its version, and not a sentence.
    pieces = text.split()
    is_broken = len(pieces) == 2 and _END_OF_ADDRESS.fullmatch(pieces[1])
    return "".join(pieces) if is_broken else text


def _open_markdown(text: str) -> str:
    if link := _MARKDOWN_LINK.fullmatch(text):
        return link[1]
    return re.sub(r"^(?:[-*+•]|\d+\.)\s+|^[`*<]+|[`*>]+$", "", text)


def _remove_brackets(text: str) -> str:
    if text[:1] and text[0] in _OPENING and not _IP_LITERAL.match(text):
        text = text[1:]
    if text[-1:] and text[-1] in _CLOSING:
        # A closing bracket may belong to the address, as that of an IPv6 address does.
        opening = _OPENING[_CLOSING.index(text[-1])]
        text = text if opening in text else text[:-1]
    return text


def _find_in_text(text: str) -> str:
    """Return the only address in a text; raise `ProbeError` if there are several."""
    starts = [(one, _SCHEME.search(one)) for one in _SEPARATORS.split(text)]
    found = {one[match.start() :] for one, match in starts if match}
    if len(found) > 1:
        raise ProbeError("address.several", count=len(found))
    return found.pop() if found and re.search(r"\s", text) else text


def _decode(text: str) -> str:
    if _ENCODED.match(text):
        return unquote(text)
    return _ENCODED_ENDS.sub("", text)


WRAPPING = (
    Correction("address.invisible", remove_invisible),
    Correction("address.spaces", _remove_spaces),
    Correction("address.markdown", _open_markdown),
    replacing("address.quoted", f"^[{QUOTES}]+|[{QUOTES}]+$"),
    Correction("address.brackets", _remove_brackets),
    replacing(
        "address.assignment",
        # NAME= or "name": with a word such as export in front; an option; a colon
        # needs a space or a quotation mark after it, because of host:port.
        r"^(?:(?:export|setx?|env|const|let|var)\s+|\$env:)?(?!https?:)"
        rf"[{QUOTES}]?[a-z_][\w .-]{{0,60}}[{QUOTES}]?\s*"
        rf"(?::=|=(?!=)|:(?=[\s{QUOTES}`]))\s*"
        r"|^(?:(?:export|setx?|env)\s+\w+|--?[a-z][\w-]*)[\s=]+",
    ),
    Correction("address.surrounded", _find_in_text),
    replacing("address.punctuation", "^[,;:=]+|[,;:.!。，；、…]+$"),
    Correction("address.percent_encoded", _decode),
    replacing("address.backslashes", r"\\+/?", "/"),
)

IMPLIED = {
    "address.assignment": ("address.quoted", "address.brackets", "address.punctuation"),
    "address.surrounded": ("address.quoted", "address.brackets", "address.punctuation"),
    "address.backslashes": ("address.scheme_slashes",),
}
"""What is only a part of another mistake, such as the quotation marks of a setting."""
