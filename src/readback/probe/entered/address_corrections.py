"""The mistakes in an address that can be corrected: around it, and in its parts."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from readback.probe.common.results import ProbeError
from readback.probe.entered.base_url import PORTS, is_local
from readback.probe.entered.corrections import (
    QUOTES,
    Correction,
    remove_invisible,
    replace_look_alikes,
    replacing,
)

_HTTP_SCHEME = re.compile("https?://", re.IGNORECASE)
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
    if not _HTTP_SCHEME.match(text):
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
    starts = [(one, _HTTP_SCHEME.search(one)) for one in _SEPARATORS.split(text)]
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


_SCHEMES = re.compile("(?:https?(?::/+|//+))+", re.IGNORECASE)
_SEGMENT = re.compile("[^/:@?#]+")
_BASE_AND_PATH = re.compile("(https?://[^/]*)(.*)", re.IGNORECASE | re.DOTALL)
# The second alternative is a scheme without its colon or its slashes.
_ANY_SCHEME = re.compile(
    "[a-z][a-z0-9+.-]*://|https?(?:[:;.,]?/|:(?![0-9]))", re.IGNORECASE
)
# The lookahead: a host follows, and not the path of an address without a host.
_SEPARATED = re.compile(
    r"(https?)([:;.,]?/+|:)(?=[^/]*[.:]|localhost|\[)", re.IGNORECASE
)
_LOGIN = re.compile("^(https?://)[^/?#]*@", re.IGNORECASE)
_LATER_SIGN = re.compile("https?://([^/?#@]*)[^@]*@", re.IGNORECASE)
_ENDPOINTS = "completions|models|responses|embeddings|messages"


def has_scheme(text: str) -> bool:
    return bool(_ANY_SCHEME.match(text))


def _misspellings(scheme: str) -> set[str]:
    """Return the scheme with a letter missing, doubled or exchanged with the next."""
    places = range(len(scheme))
    missing = {scheme[:i] + scheme[i + 1 :] for i in places}
    doubled = {scheme[:i] + scheme[i] + scheme[i:] for i in places}
    exchanged = {
        scheme[:i] + scheme[i + 1] + scheme[i] + scheme[i + 2 :] for i in places[:-1]
    }
    return (missing | doubled | exchanged) - set(PORTS)


_MISSPELT = {
    typo: scheme for scheme in ("http", "https") for typo in _misspellings(scheme)
}


def _spell_scheme(text: str) -> str:
    scheme, separator, rest = text.partition("://")
    correct = _MISSPELT.get(scheme.lower())
    return f"{correct}://{rest}" if separator and correct else text


def _keep_last_scheme(text: str) -> str:
    """Keep the innermost of several schemes, which is the one that was pasted."""
    match = _SCHEMES.match(text)
    schemes = re.findall("https?", match[0].lower()) if match else []
    if match is None or len(schemes) < 2:
        return text
    return f"{schemes[-1]}://{text[match.end() :]}"


def _separate_scheme(text: str) -> str:
    match = _SEPARATED.match(text)
    if match is None or match[2] == "://":
        return text
    return f"{match[1]}://{text[match.end() :]}"


def _add_scheme(text: str) -> str:
    """Add http for a local host, which rarely has a certificate, else https."""
    if has_scheme(text):
        return text
    rest = text.lstrip(":/")
    try:
        parts = urlsplit(f"//{rest}")
        plain = is_local(parts.hostname or "") and parts.port != PORTS["https"]
    except ValueError:
        plain = False
    return f"{'http' if plain else 'https'}://{rest}"


def _remove_login(text: str) -> str:
    text = _LOGIN.sub(r"\1", text)
    # A password with a slash or a question mark ends the host early. Its rest would be
    # shown, and the name of the user would be taken for the host.
    match = _LATER_SIGN.match(text)
    if match and (":" in match[1] or "." not in match[1].rstrip(".")):
        raise ProbeError("address.unclear_login")
    return text


def _replace_letters(text: str) -> str:
    """Replace look-alikes in each part that consists of ASCII letters without them."""

    def replaced(match: re.Match[str]) -> str:
        ascii_form = replace_look_alikes(match[0])
        return ascii_form if ascii_form.isascii() else match[0]

    # What is before an @ may be a password, of which no letter may be named.
    login, sign, rest = text.rpartition("@")
    # Signs such as a full-width colon separate the parts.
    signs = "".join(
        plain if (plain := replace_look_alikes(one)) in "/:@?#." else one
        for one in rest
    )
    return login + sign + _SEGMENT.sub(replaced, signs)


def _on_path(id: str, pattern: str, replacement: str = "") -> Correction:
    compiled = re.compile(pattern, re.IGNORECASE)

    def change(text: str) -> str:
        match = _BASE_AND_PATH.fullmatch(text)
        return match[1] + compiled.sub(replacement, match[2]) if match else text

    return Correction(id, change)


PARTS = (
    Correction("address.letters", _replace_letters),
    Correction("address.scheme_typo", _spell_scheme),
    Correction("address.doubled_scheme", _keep_last_scheme),
    Correction("address.scheme_slashes", _separate_scheme),
    Correction("address.no_scheme", _add_scheme),
    Correction("address.login", _remove_login),
    replacing("address.parameter", "[?#].*$", flags=re.DOTALL),
    replacing(
        "address.doubled_port",
        r"^(https?://(?:\[[^\]]*\]|[^/:\[\]]*))(:\d+)\2+(?=/|$)",
        r"\1\2",
    ),
    replacing("address.listen", r"^(https?://)0\.0\.0\.0(?=[:/]|$)", r"\g<1>127.0.0.1"),
    replacing("address.listen", r"^(https?://)\[::\](?=[:/]|$)", r"\1[::1]"),
    _on_path("address.slashes", "/{2,}", "/"),
    _on_path("address.version_case", r"/v(?=\d+(?:/|$))", "/v"),
    _on_path("address.version_letter", r"/v[li|](?=/|$)", "/v1"),
    _on_path("address.doubled", r"(/v\d+)\1+(?=/|$)", r"\1"),
    _on_path("address.endpoint", rf"(/v\d\w*)/(?:chat|{_ENDPOINTS})(?:/.*)?$", r"\1"),
    _on_path("address.endpoint", rf"(?:/chat(?=/completions))?/(?:{_ENDPOINTS})$"),
    _on_path("address.trailing_slash", "/$"),
)
