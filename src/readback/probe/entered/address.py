"""The step "address": finds the address in the entered text and reports mistakes in it.

The address is extracted from the text; everything around it counts as one mistake. The
later steps test the address that was found.
"""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from urllib.parse import quote, unquote, urlsplit

from readback.keys import KEY_LIKE
from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.entered.base_url import (
    PORTS,
    QUOTES,
    BaseUrl,
    as_ascii,
    ascii_host,
    is_local,
    mixed_letter,
    remove_invisible,
    say_around,
    split_authority,
    unreadable,
)

_MAX_LENGTH = 2000
_MAX_ROUNDS = 5
# A word with a key's prefix; `has_key` decides whether the rest looks random.
_CONTAINED_KEY = re.compile(
    r"(?:(?<![a-z0-9])(?:sk|gsk|hf|xai|pplx|nvapi|csk)[-_]|AIza)[\w-]{16,100}",
    re.IGNORECASE | re.ASCII,
)
_FEWEST_DIGITS = 6
_LONG_WORD = re.compile(r"(?=.*\d)(?=.*[a-z])[\w+=]{20,}", re.IGNORECASE | re.ASCII)
_PLACEHOLDER = re.compile(
    r"[<>{}$]|%(?![0-9a-f]{2})[a-z_]\w+%|process\.env|os\.environ"
    r"|(?-i:(?<![A-Za-z])YOUR[-_A-Z]|/[A-Z]+(_[A-Z]+)*_(ID|NAME|REGION|HOST)(?=/|$))"
    r"|(?<=[/.])your[-_](\w+[-_])*(name|id|host|endpoint|region|resource)(?=[/.:]|$)"
    r"|/:\w+(?=/|$)"
    r"|(?:^|//)(?:none|null|undefined)(?=[/:])",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"://[^\s/\[<]*[\[<][a-z][\w -]*[\]>]", re.IGNORECASE)
_EMAIL = re.compile(r"(?:mailto:)?[^/:@\s]+@[^/:@\s]+", re.IGNORECASE)
_FILE_PATH = re.compile(r"[a-z]:[/\\]|/(?!/)|[~.]", re.IGNORECASE)
# An address inside another one, as in links that mail filters and chats rewrite.
_ENCODED = re.compile(r"https?%3a(?:%2f|/){2}[^&#\s]+", re.IGNORECASE)
# The scheme: correct, misspelt, defanged, or without its colon or slashes.
_SCHEME = re.compile(
    r"(?:(?:h[tx]{0,3}|t{1,2})p(s?)(?:[:;.,]?/+|:(?=[^/\d])))+", re.IGNORECASE
)
_STARTS = re.compile("https?://", re.IGNORECASE)
_URL = re.compile(
    rf"https?://[^\s,;|<>()\[\]{re.escape(QUOTES)}]+|https?://\[[^\s,;|<>()]+",
    re.IGNORECASE,
)
_ANY_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{0,20})://", re.IGNORECASE)
_REST_OF_ADDRESS = re.compile(r"[\w.:/-]{0,200}/v\d\w{0,9}", re.IGNORECASE)
# The end of a complete address, and the beginning of a string that names a host.
_WHOLE = re.compile(r"/v\d\w{0,9}/?$", re.IGNORECASE)
_HOST = re.compile(r"[\w-]{1,63}[.:]")
_ESCAPED_SPACE = re.compile(r"(?:\\[nrt]|%0[9ad]|%20)+$", re.IGNORECASE)
_AROUND = QUOTES + "()[]{}<>*,;:!… \t\r\n"
_GAPS = re.compile(r"(?<=//)\s+|\s+(?=/)")
_PATH_CHARACTERS = "/%:@!$&'()*+,;=-._~"
_ENDPOINTS = "completions|models|responses|embeddings|messages"
# Mistakes in paths: a pattern, its replacement, and the id of the description.
_PATHS = (
    ("/{2,}", "/", "has_extra_slash"),
    (r"/V(?=\d+(?:/|$))", "/v", "has_capital_version"),
    (r"(/v\d+)(?:\1)+(?=/|$)", r"\1", "has_version_twice"),
    (rf"(/v\d\w{{0,9}})/(?:chat|{_ENDPOINTS})(?:/.*)?$", r"\1", "has_endpoint"),
    (rf"(?:/chat(?=/completions))?/(?:{_ENDPOINTS})$", "", "has_endpoint"),
)
_SCHEME_TWICE = re.compile("(?:https?:?/*){2,}", re.IGNORECASE)
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def check(text: str) -> tuple[list[Diagnosis], BaseUrl]:
    """Parse the entered address; report mistakes in it, the most important first."""
    base_url, mistakes = parse(text)
    shown = str(base_url)
    found = []
    if has_key(remove_invisible(unquote(text))):
        found.append(diagnose("address.contains_key", base_url=shown))
    if letter := mistakes.pop("letter", ""):
        script = unicodedata.name(letter).partition(" ")[0].capitalize()
        script = f"{script}, U+{ord(letter):04X}"
        facts = {"letter": letter, "script": script, "base_url": shown}
        found.append(diagnose("address.letters", **facts))
    is_listen = mistakes.pop("listen", "")
    if mistakes:
        said = "; ".join(mistakes.values())
        found.append(diagnose("address.corrected", mistakes=said, base_url=shown))
    if is_listen:
        found.append(diagnose("address.listen", base_url=shown))
    return found or [diagnose("address.ok", base_url=shown)], base_url


def names_host(text: str, host: str) -> bool:
    """Return whether the text contains the host itself, in ASCII or Unicode."""
    with suppress(UnicodeError):
        return host in text.lower() or host.encode().decode("idna") in text.lower()
    return False


def parse(text: str) -> tuple[BaseUrl, dict[str, str]]:
    """Return the base URL, and the mistakes in the text with their descriptions."""
    is_undecoded = any("\ud800" <= c <= "\udfff" for c in text)
    if is_undecoded or len(text) > _MAX_LENGTH:
        raise unreadable("bad_host")
    mistakes: dict[str, str] = {}
    for _ in range(_MAX_ROUNDS):
        url = _extracted(text)
        around = {} if url == text else {"around": say_around(text, url)}
        base_url, inside = _parts(_with_scheme(url, around))
        mistakes = {**around, **inside, **mistakes}
        if str(base_url) == url and not inside:
            return base_url, mistakes
        text = str(base_url)
    raise unreadable("bad_host")


def has_key(text: str) -> bool:
    """Return whether the text contains a key, not just a name that looks like one."""
    for match in _CONTAINED_KEY.finditer(text):
        word = match[0]
        digits = sum(map(str.isdigit, word))
        is_mixed = word not in (word.lower(), word.upper()) and digits > 0
        if digits >= _FEWEST_DIGITS or is_mixed:
            return True
    return False


def _extracted(text: str) -> str:
    plain = as_ascii(remove_invisible(text))
    if inner := _ENCODED.search(plain):
        plain = unquote(inner[0])
    if not _STARTS.search(plain):
        _refuse_other(plain.strip())
    plain = plain.replace("[.]", ".").replace("(.)", ".").replace("[:]", ":")
    plain = _ESCAPED_SPACE.sub("", plain.strip()).replace("\\/", "/").replace("\\", "/")
    plain = _GAPS.sub("", plain)
    if _IN_BRACKETS.search(plain):
        raise unreadable("has_placeholder")
    pieces = plain.split()
    if len(pieces) == 2 and _REST_OF_ADDRESS.fullmatch(pieces[1]):
        has_host = _HOST.match(pieces[1]) and not pieces[0].endswith((".", "-"))
        if has_host or _WHOLE.search(pieces[0]):
            raise unreadable("contains_several")
        plain = "".join(pieces)
    found = {url.strip(_AROUND) for url in _URL.findall(plain)}
    if len(found) > 1:
        raise unreadable("contains_several")
    if found:
        url = found.pop().rstrip(".")
        # An IPv6 address may lack its closing bracket.
        return f"{url}]" if "[" in url and "]" not in url else url
    url = plain if plain.startswith("[") else plain.strip(_AROUND)
    if re.search(r"\s", url):
        raise unreadable("contains_spaces")
    return url


def _refuse_other(text: str) -> None:
    """Raise `ProbeError` if text without http(s):// is certainly not an address."""
    bare = text.strip(_AROUND)
    if KEY_LIKE.fullmatch(bare) or _LONG_WORD.fullmatch(bare) or has_key(text):
        raise ProbeError("address.contains_key", base_url=say("address_without_key"))
    if _ANY_SCHEME.match(bare):
        if not _SCHEME.match(bare):
            raise unreadable("other_scheme")
        return
    if _PLACEHOLDER.search(text):
        raise unreadable("has_placeholder")
    is_path = _FILE_PATH.match(bare) and not _SCHEME.match(bare)
    is_word = not re.search(r"[./:\[\\%]", bare) and bare.lower() != "localhost"
    if is_path or is_word or _EMAIL.fullmatch(bare):
        raise unreadable("is_word")


def _with_scheme(url: str, mistakes: dict[str, str]) -> str:
    """Correct the scheme; if there is none, add http for a local host, else https."""
    if match := _SCHEME.match(url):
        rest = url[match.end() :]
        scheme = "https" if match[1] else "http"
        whole = f"{scheme}://{rest}"
        if whole.lower() != url.lower():
            host = rest.partition("/")[0]
            if not re.search(r"[.:\[]", host) and host.lower() != "localhost":
                raise unreadable("bad_host")
            is_twice = _SCHEME_TWICE.match(url)
            mistakes["scheme"] = say("scheme_twice" if is_twice else "bad_scheme")
        return whole
    if _ANY_SCHEME.match(url):
        return url
    rest = url.lstrip(":/")
    try:
        parts = urlsplit(f"//{rest}")
        plain = is_local(parts.hostname or "") and parts.port != PORTS["https"]
    except ValueError:
        plain = False
    mistakes["scheme"] = say("no_scheme")
    return f"{'http' if plain else 'https'}://{rest}"


def _parts(url: str) -> tuple[BaseUrl, dict[str, str]]:
    """Return the base URL of an address, and the mistakes that it contains."""
    mistakes = {}
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in PORTS:
        raise unreadable("bad_host")
    if _PLACEHOLDER.search(url):
        raise unreadable("has_placeholder")
    # A # or ? in a password would end the host part early.
    before, sign, after = rest.replace("#", "?").partition("?")
    if "@" in after and (":" in before or "." not in before):
        raise unreadable("may_contain_password")
    rest = before
    if sign:
        mistakes["parameter"] = say("ends_with_parameter")
    authority, slash, path = rest.partition("/")
    if "@" in authority:
        authority = authority.rpartition("@")[2]
        mistakes["login"] = say("contains_login")
    # A slash in a password ends the host early, so the rest would be shown.
    if "@" in path and (":" in authority or "." not in authority):
        raise unreadable("may_contain_password")
    host, port = split_authority(authority)
    if letter := mixed_letter(host):
        mistakes["letter"] = letter
    name = ascii_host(host)
    if name in _EVERYWHERE:
        mistakes["listen"] = name
        name = _EVERYWHERE[name]
    short = slash + path
    for pattern, replacement, word in _PATHS:
        before = short
        short = re.sub(pattern, replacement, short)
        if short != before:
            mistakes[word] = say(word)
    # A final slash is no mistake: many providers document it, and clients accept it.
    short = short.rstrip("/")
    if has_key(name) or has_key(unquote(short)):
        without = say("address_without_key")
        raise ProbeError("address.contains_key", base_url=without)
    whole = quote(short, safe=_PATH_CHARACTERS)
    return BaseUrl(scheme.lower(), name, port or PORTS[scheme.lower()], whole), mistakes
