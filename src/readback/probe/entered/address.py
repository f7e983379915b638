"""The step "address": finds mistakes in the address and corrects the obvious ones.

A mistake with only one possible meaning is corrected so that the later steps can run;
the step still reports it. Nothing is sent from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote, unquote

from readback.keys import KEY_LIKE
from readback.probe.diagnoses import diagnose
from readback.probe.diagnoses.address import ADDRESS
from readback.probe.entered.base_url import (
    PORTS,
    BaseUrl,
    is_ip_address,
    is_local,
    shown_scheme,
)
from readback.probe.entered.characters import (
    describe,
    invisible_in,
    is_text,
    remove_invisible,
    replace_look_alikes,
    script_of,
)
from readback.probe.entered.corrections import correct, without_implied
from readback.probe.entered.url_parts import PARTS, has_scheme
from readback.probe.entered.wrapping import IMPLIED, WRAPPING
from readback.probe.results import Diagnosis, ProbeError

# The table lists the most important mistakes first.
_RANK = {row.id: rank for rank, row in enumerate(ADDRESS)}
_MAX_LENGTH = 2000

_HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_IP_LITERAL = re.compile(r"[0-9a-f:.]+(%[\w.-]+)?", re.ASCII)
_HOST_AND_PORT = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]]*))(?::([^:]*))?", re.DOTALL)
_TWO_PORTS = re.compile(r"[^:]*:\d+:\d+")
_IPV6 = re.compile("[0-9a-f:.]+", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"[<>{}$]|%(?![0-9a-f]{2})[a-z_]\w+%", re.IGNORECASE)
# Longer than a host name that only begins like a key, and not the first part of one.
_CONTAINED_KEY = re.compile(
    r"(?:(?<![a-z0-9])(?:sk|gsk|hf|xai|pplx|nvapi|csk)[-_]|AIza)[\w-]{16,}"
    r"(?![\w-]*\.[a-z])",
    re.IGNORECASE | re.ASCII,
)
_LONG_WORD = re.compile(r"(?=.*\d)(?=.*[a-z])[\w+=-]{20,}", re.IGNORECASE | re.ASCII)
_EMAIL = re.compile(r"(?:mailto:)?[^/:@\s]+@[^/:@\s]+", re.IGNORECASE)
_FILE_PATH = re.compile("[a-z]:/|/(?!/)|[~.]", re.IGNORECASE)
_PATH_CHARACTERS = "/%:@!$&'()*+,;=-._~"
# Scripts that have letters in common with Latin. Names in other scripts often contain
# Latin letters.
_SCRIPTS_LIKE_LATIN = frozenset(("Cyrillic", "Greek", "Armenian", "Cherokee"))


def check(text: str) -> tuple[list[Diagnosis], BaseUrl]:
    """Parse the address as entered; report and correct its mistakes."""
    base_url, mistakes = parse(text)
    shown = str(base_url)
    found = [
        diagnose(id, base_url=shown, **_facts(id, before))
        for id, before in mistakes.items()
    ]
    if not base_url.is_encrypted and not is_local(base_url.host):
        found.append(diagnose("address.unencrypted"))
    return found or [diagnose("address.ok", base_url=shown)], base_url


def parse(text: str) -> tuple[BaseUrl, dict[str, str]]:
    """Return the corrected base URL and its mistakes, the most important first.

    A mistake is the id of its diagnosis with the text before it was corrected.
    """
    if not is_text(text):
        raise ProbeError("address.bytes")
    if len(text) > _MAX_LENGTH:
        raise ProbeError("address.long", length=len(text))
    url, mistakes = correct(text, WRAPPING)
    _refuse_other(url)
    base_url, more = _settle(url)
    mistakes = {**more, **mistakes}
    ids = without_implied(mistakes, IMPLIED)
    if _CONTAINED_KEY.search(str(base_url)):
        raise ProbeError("address.has_key")
    if _CONTAINED_KEY.search(_readable(text)):
        ids.append("address.contains_key")
    ids.sort(key=_RANK.__getitem__)
    return base_url, {id: mistakes.get(id, "") for id in ids}


def _settle(url: str) -> tuple[BaseUrl, dict[str, str]]:
    """Correct an address until its usual form has no mistake either."""
    corrected, mistakes = correct(url, (*WRAPPING, *PARTS))
    base_url, letters = _build(corrected)
    mistakes.update(letters)
    if str(base_url) == corrected:
        return base_url, mistakes
    settled, more = _settle(str(base_url))
    return settled, {**more, **mistakes}


def _refuse_other(text: str) -> None:
    """Raise `ProbeError` if a text without a scheme is a key or something else."""
    text = replace_look_alikes(text)
    if has_scheme(text):
        return
    if KEY_LIKE.fullmatch(text) or _CONTAINED_KEY.search(_readable(text)):
        raise ProbeError("address.is_key")
    if _LONG_WORD.fullmatch(text):
        raise ProbeError("address.is_key")
    if _EMAIL.fullmatch(text):
        raise ProbeError("address.email")
    if _PLACEHOLDER.search(text):
        raise ProbeError("address.placeholder")
    if _FILE_PATH.match(text):
        raise ProbeError("address.file")
    if text and not re.search(r"[./:\[]", text) and text.lower() != "localhost":
        raise ProbeError("address.word")


def _readable(text: str) -> str:
    return remove_invisible(unquote(text))


def _build(url: str) -> tuple[BaseUrl, dict[str, str]]:
    """Return the base URL and what is suspicious in its host."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise ProbeError("address.host")
    if scheme.lower() not in PORTS:
        raise ProbeError("address.scheme", scheme=shown_scheme(scheme))
    authority, slash, path = rest.partition("/")
    if _PLACEHOLDER.search(url):
        raise ProbeError("address.placeholder")
    # A password with a slash ends the host early, and its rest would be shown.
    if "@" in path and (":" in authority or "." not in authority[:-1]):
        raise ProbeError("address.unclear_login")
    host, port = _split_authority(authority)
    name, letters = _ascii_host(host)
    port = port or PORTS[scheme.lower()]
    path = quote(slash + path, safe=_PATH_CHARACTERS)
    return BaseUrl(scheme.lower(), name, port, path), letters


def _split_authority(authority: str) -> tuple[str, int | None]:
    match = _HOST_AND_PORT.fullmatch(authority)
    if match is None:
        raise ProbeError(_many_colons_id(authority))
    literal, name, port = match.groups()
    if literal is not None and not (":" in literal and is_ip_address(literal)):
        raise ProbeError("address.host")
    if not port:
        return literal or name, None
    if not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) < 65536:
        raise ProbeError("address.port")
    return literal or name, int(port)


def _many_colons_id(authority: str) -> str:
    if _TWO_PORTS.fullmatch(authority):
        return "address.two_ports"
    return "address.ipv6" if _IPV6.fullmatch(authority) else "address.host"


def _ascii_host(host: str) -> tuple[str, dict[str, str]]:
    """Return the host in its IDNA form; raise `ProbeError` if it is not valid."""
    try:
        # The codec takes quadratic time, so it must not see a long text.
        name = host.lower() if host.isascii() else host[:254].encode("idna").decode()
    except UnicodeError:
        raise ProbeError("address.host") from None
    name = name.lower().replace("%25", "%").rstrip(".")
    if is_ip_address(name):
        if not _IP_LITERAL.fullmatch(name):
            raise ProbeError("address.host")
        return name, {}
    # A name that ends with a number would be taken for an IPv4 address.
    if not _HOST_NAME.fullmatch(name) or name.rpartition(".")[2].isdigit():
        raise ProbeError("address.host")
    return name, {"address.mixed_letters": host} if _mixed_letter(host) else {}


def _mixed_letter(host: str) -> str:
    """Return a letter of another script in a label that has Latin letters, too."""
    for label in host.split("."):
        if re.search("[a-z]", label, re.IGNORECASE):
            for letter in label:
                if script_of(letter) in _SCRIPTS_LIKE_LATIN:
                    return letter
    return ""


def _replaced_letter(text: str) -> str:
    return next((one for one in text if replace_look_alikes(one) != one), "")


def _letter_facts(letter: str) -> dict[str, str]:
    return {"letter": letter, "script": describe(letter)}


_FACTS: dict[str, Callable[[str], dict[str, str]]] = {
    "address.invisible": lambda text: {"characters": invisible_in(text)},
    "address.letters": lambda text: _letter_facts(_replaced_letter(text)),
    "address.mixed_letters": lambda text: _letter_facts(_mixed_letter(text)),
}


def _facts(id: str, before: str) -> dict[str, str]:
    return _FACTS[id](before) if id in _FACTS else {}
