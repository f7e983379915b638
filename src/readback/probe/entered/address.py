"""The step "address": finds mistakes in the address and corrects the obvious ones.

A mistake with only one possible meaning is corrected so that the later steps can run;
the step still reports it. Nothing is sent from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote, unquote

from readback.keys import KEY_LIKE
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.diagnoses.entered import ADDRESS
from readback.probe.entered.address_corrections import (
    IMPLIED,
    PARTS,
    WRAPPING,
    has_scheme,
)
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
    correct,
    describe,
    invisible_in,
    is_text,
    remove_invisible,
    replace_look_alikes,
    without_implied,
)

# The table lists the most important mistakes first.
_RANK = list(ADDRESS)
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
    ids.sort(key=_RANK.index)
    return base_url, {id: mistakes.get(id, "") for id in ids}


def _settle(url: str) -> tuple[BaseUrl, dict[str, str]]:
    """Correct an address until its usual form has no mistake either."""
    corrected, mistakes = correct(url, (*WRAPPING, *PARTS))
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


def _letter_facts(letter: str) -> dict[str, str]:
    return {"letter": letter, "script": describe(letter)}


def _replaced_letter_facts(text: str) -> dict[str, str]:
    rest = text.rpartition("@")[2]
    return _letter_facts(next(one for one in rest if replace_look_alikes(one) != one))


_FACTS: dict[str, Callable[[str], dict[str, str]]] = {
    "address.invisible": lambda text: {"characters": invisible_in(text)},
    "address.letters": _replaced_letter_facts,
    "address.mixed_letters": lambda text: _letter_facts(mixed_letter(text)),
}
