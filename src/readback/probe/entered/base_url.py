"""A base URL and its parts; checks its host and replaces its version.

Only the server can tell whether a missing or different version is a mistake: many
services require a version, and some have none.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from readback.contract import VERSION_PREFIX
from readback.probe.common.catalogue import say
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import ProbeError

# Straight and typographic quotation marks, guillemets, primes, and the backtick.
QUOTES = "\"'`‘’‚‛“”„‟«»‹›′″＂＇「」『』"
# Invisible characters that Unicode does not class as such, then variation selectors.
_BLANKS = {
    *"\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0",
    *map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]),
}


def is_invisible(character: str) -> bool:
    """Return whether this is an invisible format, control or filler character."""
    if character.isspace():
        return False
    return character in _BLANKS or unicodedata.category(character) in ("Cf", "Cc")


def remove_invisible(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(character for character in text if not is_invisible(character))


def say_around(text: str, found: str) -> str:
    """Say what surrounds an address or a key in the text, such as quotes or spaces."""
    rest = text.replace(found, "", 1)
    if rest == text:
        return say("something_inside")
    if not remove_invisible(rest).strip():
        return say("spaces_around")
    is_quoted = not rest.strip(QUOTES + " \t\r\n")
    return say("quotes_around" if is_quoted else "text_around")


def as_ascii(text: str) -> str:
    """Return the text with full-width and similar forms replaced by ASCII."""
    return unicodedata.normalize("NFKC", text).replace("。", ".")


PORTS = {"http": 80, "https": 443}
# From RFC 6761, 6762 and 8375, .internal (from ICANN), and names used in companies.
_PRIVATE_SUFFIX = re.compile(
    r"\.(local|corp|home|home\.arpa|internal|intra|intranet|lan|localdomain"
    r"|localhost|private|svc|test)\Z"
)
_MAX_LENGTH = 253
_HOST_NAME = re.compile(
    rf"(?=.{{1,{_MAX_LENGTH}}}$)[a-z0-9_-]{{1,63}}(\.[a-z0-9_-]{{1,63}})*"
)
_IP_LITERAL = re.compile(r"[0-9a-f:.]+(%[\w.-]+)?", re.ASCII)
# Scripts with letters that look Latin; names in other scripts often have Latin ones.
_LIKE_LATIN = re.compile("CYRILLIC|GREEK|ARMENIAN|CHEROKEE")
_VERSION = re.compile(r"/v\d\w*$")
# The version of Google's own API; the OpenAI-compatible API is below this path.
GOOGLE_VERSION = "/v1beta"


@dataclass(frozen=True)
class BaseUrl:
    """The parts of a base URL, without anything secret."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def is_encrypted(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return f"{self.origin}{self.path}"


def unreadable(why: str) -> ProbeError:
    return ProbeError("address.unreadable", why=say(why))


def shown_url(url: str) -> str:
    """Return an address without its login and parameters, which may be secret."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return say("an_invalid_address")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    origin = f"{parts.scheme}://{host}{port}" if host else ""
    return sanitize(f"{origin}{parts.path}") or "/"


def is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    if is_ip_address(host):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def is_local(host: str) -> bool:
    if is_ip_address(host):
        return ipaddress.ip_address(host).is_private
    return not is_public_name(host)


def is_public_name(host: str) -> bool:
    """Return whether the name may exist outside a private network."""
    name = host.rstrip(".").lower()
    return "." in name and not _PRIVATE_SUFFIX.search(name)


def split_authority(authority: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(f"//{authority}")
        host = parts.hostname or ""
        port = parts.port
    except ValueError:
        raise unreadable("bad_host") from None
    is_literal = "[" in authority
    if port == 0 or is_literal != (":" in host):
        raise unreadable("bad_host")
    return host, port


def ascii_host(host: str) -> str:
    """Return the host in its IDNA form; raise `ProbeError` if it is not valid."""
    # The codec takes quadratic time, so it must not receive a long name.
    if len(host) > _MAX_LENGTH:
        raise unreadable("bad_host")
    try:
        name = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise unreadable("bad_host") from None
    name = name.lower().replace("%25", "%").rstrip(".")
    if is_ip_address(name):
        if not _IP_LITERAL.fullmatch(name):
            raise unreadable("bad_host")
        return name
    # A name that ends in a number would be parsed as an IPv4 address.
    if not _HOST_NAME.fullmatch(name) or name.rpartition(".")[2].isdigit():
        raise unreadable("bad_host")
    return name


def mixed_letter(host: str) -> str:
    """Return a letter that only looks Latin, in a label with Latin letters, or ""."""
    for label in host.split("."):
        if re.search("[a-z]", label, re.IGNORECASE):
            for letter in label:
                if _LIKE_LATIN.match(unicodedata.name(letter, "")):
                    return letter
    return ""


def with_version(base_url: BaseUrl) -> BaseUrl:
    """Replace the version with Readback's; for Google's API, append /openai instead."""
    if base_url.path.endswith(GOOGLE_VERSION):
        return replace(base_url, path=f"{base_url.path}/openai")
    return replace(base_url, path=_VERSION.sub("", base_url.path) + VERSION_PREFIX)
