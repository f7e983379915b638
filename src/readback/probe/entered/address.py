"""The step "address": finds mistakes in the address and corrects the obvious ones.

A mistake with only one possible meaning is corrected so that the later steps can run;
the step still reports it. Nothing is sent from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote, unquote, urlsplit

from readback.keys import KEY_LIKE
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.diagnoses.entered import ADDRESS
from readback.probe.entered.base_url import (
    PORTS,
    BaseUrl,
    ascii_host,
    is_local,
    mixed_letter,
    shown_scheme,
    split_authority,
)
from readback.probe.entered.corrections import (
    QUOTES,
    Correction,
    correct,
    invisible_in,
    remove_invisible,
    replace_look_alikes,
    replacing,
    script_of,
    without_implied,
)

_MAX_LENGTH = 2000

_PLACEHOLDER = re.compile(r"[<>{}$]|%(?![0-9a-f]{2})[a-z_]\w+%", re.IGNORECASE)
# Longer than a host name that only begins like a key, and not the first part of one.
_CONTAINED_KEY = re.compile(
    r"(?:(?<![a-z0-9])(?:sk|gsk|hf|xai|pplx|nvapi|csk)[-_]|AIza)[\w-]{16,}"
    r"(?![\w-]*\.[a-z])",
    re.IGNORECASE | re.ASCII,
)
_LONG_WORD = re.compile(r"(?=.*\d)(?=.*[a-z])[\w+=]{20,}", re.IGNORECASE | re.ASCII)
_EMAIL = re.compile(r"(?:mailto:)?[^/:@\s]+@[^/:@\s]+", re.IGNORECASE)
_FILE_PATH = re.compile("[a-z]:/|/(?!/)|[~.]", re.IGNORECASE)
_PATH_CHARACTERS = "/%:@!$&'()*+,;=-._~"
# The second alternative is a scheme without its colon or its slashes.
_ANY_SCHEME = re.compile(
    "[a-z][a-z0-9+.-]*://|https?(?:[:;.,]?/|:(?![0-9]))", re.IGNORECASE
)


def check(text: str) -> tuple[list[Diagnosis], BaseUrl]:
    """Parse the address as entered; report and correct its mistakes."""
    base_url, mistakes = parse(text)
    shown = str(base_url)
    found = [
        diagnose(id, base_url=shown, **(_FACTS[id](before) if id in _FACTS else {}))
        for id, before in mistakes.items()
    ]
    if not base_url.is_encrypted and not is_local(base_url.host):
        found.append(diagnose("address.unencrypted"))
    return found or [diagnose("address.ok", base_url=shown)], base_url


def parse(text: str) -> tuple[BaseUrl, dict[str, str]]:
    """Return the corrected base URL and its mistakes, the most important first.

    A mistake is the id of its diagnosis with the text before it was corrected.
    """
    if any("\ud800" <= one <= "\udfff" for one in text):  # It could not be decoded.
        raise ProbeError("address.bytes")
    if len(text) > _MAX_LENGTH:
        raise ProbeError("address.long", length=len(text))
    url, mistakes = correct(text, _WRAPPING)
    _refuse_other(url)
    base_url, more = _settle(url)
    mistakes = {**more, **mistakes}
    ids = without_implied(mistakes, _IMPLIED)
    if _CONTAINED_KEY.search(str(base_url)):
        raise ProbeError("address.has_key")
    if _CONTAINED_KEY.search(remove_invisible(unquote(text))):
        ids.append("address.contains_key")
    # The table lists the most important mistakes first.
    ids.sort(key=list(ADDRESS).index)
    return base_url, {id: mistakes.get(id, "") for id in ids}


def _settle(url: str) -> tuple[BaseUrl, dict[str, str]]:
    """Correct an address until its usual form has no mistake either."""
    corrected, mistakes = correct(url, (*_WRAPPING, *_PARTS))
    scheme, separator, rest = corrected.partition("://")
    if not separator:
        raise ProbeError("address.host")
    if scheme.lower() not in PORTS:
        raise ProbeError("address.scheme", scheme=shown_scheme(scheme))
    if _PLACEHOLDER.search(corrected):
        raise ProbeError("address.placeholder")
    authority, slash, path = rest.partition("/")
    host, port = split_authority(authority)
    if mixed_letter(host):
        mistakes["address.mixed_letters"] = host
    base_url = BaseUrl(
        scheme.lower(),
        ascii_host(host),
        port or PORTS[scheme.lower()],
        quote(slash + path, safe=_PATH_CHARACTERS),
    )
    if str(base_url) == corrected:
        return base_url, mistakes
    settled, more = _settle(str(base_url))
    return settled, {**more, **mistakes}


def _refuse_other(text: str) -> None:
    """Raise `ProbeError` if a text without a scheme is a key or something else."""
    text = replace_look_alikes(text)
    if _ANY_SCHEME.match(text):
        return
    is_key = KEY_LIKE.fullmatch(text) or _LONG_WORD.fullmatch(text)
    if is_key or _CONTAINED_KEY.search(remove_invisible(unquote(text))):
        raise ProbeError("address.is_key")
    if _EMAIL.fullmatch(text):
        raise ProbeError("address.email")
    if _PLACEHOLDER.search(text):
        raise ProbeError("address.placeholder")
    if _FILE_PATH.match(text):
        raise ProbeError("address.file")
    if text and not re.search(r"[./:\[]", text) and text.lower() != "localhost":
        raise ProbeError("address.word")


def _letter_facts(letter: str) -> dict[str, str]:
    return {"letter": letter, "script": f"{script_of(letter)}, U+{ord(letter):04X}"}


_FACTS: dict[str, Callable[[str], dict[str, str]]] = {
    "address.invisible": lambda text: {"characters": invisible_in(text)},
    "address.letters": lambda text: _letter_facts(
        next(one for one in text.rpartition("@")[2] if replace_look_alikes(one) != one)
    ),
    "address.mixed_letters": lambda text: _letter_facts(mixed_letter(text)),
}

# The mistakes around an address.
_HTTP_SCHEME = re.compile("https?://", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s,;|]+")
# Whitespace that only continues the address: around its separators, but not before
# another address.
_GAPS = re.compile(
    r"\s+(?=[/:])|(?<=/)\s+(?!https?:)|(?<=:)\s+(?=[\d/])", re.IGNORECASE
)
_END_OF_ADDRESS = re.compile(r"[\w.:-]+(?:/[\w-]+)*/v\d[\w/]*", re.IGNORECASE)
_ESCAPED_SPACE = re.compile(r"([^\\]*?)(?:\\[nrt])+")
# Whitespace, quotation marks and angle brackets.
_STRAY = "(?:%(?:0[9ad]|2[027]|3[ce]))+"
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


# Links that mail filters and web services put around an address: the parameter or the
# part of the path that contains it.
_WRAPPERS = (
    r"^https?://(?:(?:[\w.-]+\.safelinks\.protection\.outlook\.com/[^?]*\?(?:.*&)?url"
    r"|(?:www\.)?google\.[a-z.]+/url\?(?:.*&)?(?:q|url)"
    r"|slack-redir\.net/link\?(?:.*&)?url|l\.facebook\.com/l\.php\?(?:.*&)?u"
    r"|(?:www\.)?linkedin\.com/redir/redirect\?(?:.*&)?url)=([^&#]+)"
    r"|urldefense\.(?:com|us)/v3/__(.+?)__;)[\s\S]*"
)

_WRAPPING = (
    replacing("address.defanged", r"^hxxp(?=s?:)", "http"),
    replacing(
        "address.defanged",
        r"\[([.:])\]|\(([.:])\)|\[://\]",
        lambda match: match[1] or match[2] or "://",
    ),
    Correction("address.invisible", remove_invisible),
    Correction("address.spaces", _remove_spaces),
    replacing(
        "address.markdown",
        r"^!?\[[^\]]*\]\(\s*<?([^\s<>]*?)>?(?:\s+[^)]*)?\)$"
        r"|^(?:[-*+•]|\d+\.)\s+|^[`*<]+|[`*>]+$",
        lambda match: match[1] or "",
    ),
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
    replacing(
        "address.wrapped", _WRAPPERS, lambda match: unquote(match[1] or match[2])
    ),
    Correction("address.surrounded", _find_in_text),
    replacing("address.punctuation", "^[,;:=]+|[,;:.!。，；、…]+$"),
    replacing(
        "address.percent_encoded",
        rf"^[a-z]+%3a(?:%2f|/){{2}}[\s\S]*|^{_STRAY}|{_STRAY}$",
        lambda match: unquote(match[0]) if match[0][:1].isalpha() else "",
    ),
    replacing("address.backslashes", r"\\+/?", "/"),
)

# What is only a part of another mistake, such as the quotation marks of a setting.
_IMPLIED = {
    "address.assignment": ("address.quoted", "address.brackets", "address.punctuation"),
    "address.surrounded": ("address.quoted", "address.brackets", "address.punctuation"),
    "address.backslashes": ("address.scheme_slashes",),
}

# The mistakes in its parts.
_SEGMENT = re.compile("[^/:@?#]+")
_BASE_AND_PATH = re.compile("(https?://[^/]*)(.*)", re.IGNORECASE | re.DOTALL)
_LOGIN = re.compile("^(https?://)[^/?#]*@", re.IGNORECASE)
_LATER_SIGN = re.compile("https?://([^/?#@]*)[^@]*@", re.IGNORECASE)
_ENDPOINTS = "completions|models|responses|embeddings|messages"


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


def _add_scheme(text: str) -> str:
    """Add http for a local host, which rarely has a certificate, else https."""
    if _ANY_SCHEME.match(text):
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


_PARTS = (
    Correction("address.letters", _replace_letters),
    replacing(
        "address.scheme_typo",
        f"^(?:{'|'.join(_MISSPELT)})(?=://)",
        lambda match: _MISSPELT[match[0].lower()],
    ),
    # The innermost of several schemes is the one that was pasted.
    replacing(
        "address.doubled_scheme",
        r"^(?:https?(?::/+|//+))+(https?)(?::/+|//+)",
        lambda match: f"{match[1].lower()}://",
    ),
    # A host follows, and not the path of an address without a host.
    replacing(
        "address.scheme_slashes",
        r"^(https?)(?!://[^/])(?:[:;.,]?/+|:)(?=[^/]*[.:]|localhost|\[)",
        r"\1://",
    ),
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
