"""The step "address": what is wrong with the form, and the address that is meant.

A slip that leaves no doubt is mended, so that the later steps still have something
to test; the finding stays. Nothing is sent from here.
"""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from readback.contract import CHAT_PATH, MODELS_PATH, VERSION_PREFIX
from readback.probe.diagnoses import found
from readback.probe.findings import Finding, Trouble
from readback.probe.wording import foreign

PORTS = {"http": 80, "https": 443}
# Quotation marks, brackets, zero-width characters: what a paste brings along.
_STRAY = re.compile(
    "[\\s\"'`<>\u2018\u2019\u201c\u201d\u00ab\u00bb\u200b-\u200d\u2060\ufeff]"
)
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_KEY_LIKE = re.compile(r"sk-[\w-]{8,}", re.ASCII)
_ENDPOINTS = tuple(
    path.removeprefix(VERSION_PREFIX) for path in (CHAT_PATH, MODELS_PATH)
)
_INSIDE = (".local", ".localhost", ".internal", ".test", ".svc", ".lan")


@dataclass(frozen=True, slots=True)
class Address:
    """A base address in its parts, with nothing in it that must not be shown."""

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

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def check(text: str) -> tuple[Finding, Address]:
    """Read an address as people paste it, and mend it where that leaves no doubt."""
    address, slips = read(text)
    id = slips[0] if slips else _advice(address)
    return found(id, base_url=str(address)), address


def read(text: str) -> tuple[Address, list[str]]:
    """Give the address that is meant, and the ids of what was wrong with it."""
    clean = _STRAY.sub("", text)
    slips = ["address.spaces"] if clean != text else []
    if _KEY_LIKE.fullmatch(clean):
        raise Trouble("address.is_key")
    if "://" not in clean:
        slips.append("address.no_scheme")
        clean = f"{_likely_scheme(clean)}://{clean}"
    parts = split(clean)
    if parts.username is not None or parts.password is not None:
        slips.append("address.login")
    if parts.query or parts.fragment or "?" in clean or "#" in clean:
        slips.append("address.parameter")
    path, path_slips = _read_path(parts.path)
    port = parts.port or PORTS[parts.scheme]
    host = _ascii(parts.hostname or "")
    return Address(parts.scheme, host, port, path), slips + path_slips


def split(clean: str) -> SplitResult:
    """Take a web address apart; raise `Trouble` if it is none."""
    try:
        parts = urlsplit(clean)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError:
        raise Trouble("address.host") from None
    if parts.scheme not in PORTS:
        raise Trouble("address.scheme", scheme=foreign(parts.scheme) or "empty")
    if not parts.hostname or parts.port == 0:
        raise Trouble("address.host")
    return parts


def is_literal(host: str) -> bool:
    """Tell an IP address from a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _ascii(host: str) -> str:
    """Write an international name as DNS has it, and refuse what is no name."""
    try:
        name = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise Trouble("address.host") from None
    if not _NAME.fullmatch(name) and not is_literal(name):
        raise Trouble("address.host")
    return name


def _read_path(given: str) -> tuple[str, list[str]]:
    path = re.sub("/{2,}", "/", given)
    slips = ["address.slashes"] if path != given else []
    trailing = path.endswith("/") and path != "/"
    path = path.rstrip("/")
    for endpoint in _ENDPOINTS:
        if path.endswith(endpoint):
            path = path.removesuffix(endpoint)
            slips.append("address.endpoint")
    while path.endswith(VERSION_PREFIX * 2):
        path = path.removesuffix(VERSION_PREFIX)
        slips.append("address.doubled")
    if not path.endswith(VERSION_PREFIX):
        # What stands behind the version is cut off, as an endpoint is.
        path = path.partition(VERSION_PREFIX + "/")[0] + VERSION_PREFIX
        slips.append("address.no_version")
    if trailing and not slips:
        slips.append("address.trailing_slash")
    return path, slips


def _likely_scheme(rest: str) -> str:
    """Guess as a person would: a machine on the desk rarely has a certificate."""
    return "http" if _is_near(urlsplit(f"//{rest}").hostname or "") else "https"


def _advice(address: Address) -> str:
    if address.is_encrypted or _is_near(address.host):
        return "address.ok"
    return "address.unencrypted"


def _is_near(host: str) -> bool:
    """Tell a host of this machine or network from one across the internet."""
    if is_literal(host):
        return ipaddress.ip_address(host).is_private
    return "." not in host or host.endswith(_INSIDE)
