"""The step "address": finds mistakes in the address and corrects the obvious ones.

A mistake with only one possible meaning is corrected so that the later steps can run;
the step still reports it. Nothing is sent from here.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from readback.contract import CHAT_PATH, MODELS_PATH, VERSION_PREFIX
from readback.keys import KEY_LIKE
from readback.probe.diagnoses import diagnose
from readback.probe.formatting import sanitize
from readback.probe.results import Diagnosis, ProbeError

PORTS = {"http": 80, "https": 443}
# Characters often pasted along: quotation marks, brackets, zero-width characters.
_STRAY = re.compile(
    "[\\s\"'`<>\u2018\u2019\u201c\u201d\u00ab\u00bb\u200b-\u200d\u2060\ufeff]"
)
_HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_ENDPOINTS = tuple(
    path.removeprefix(VERSION_PREFIX) for path in (CHAT_PATH, MODELS_PATH)
)
_LOCAL_SUFFIXES = (".local", ".localhost", ".internal", ".test", ".svc", ".lan")


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


def check(text: str) -> tuple[Diagnosis, BaseUrl]:
    """Parse the address as entered; report the first mistake and correct them all."""
    base_url, mistakes = parse(text)
    id = mistakes[0] if mistakes else _encryption_id(base_url)
    return diagnose(id, base_url=str(base_url)), base_url


def parse(text: str) -> tuple[BaseUrl, list[str]]:
    """Return the corrected base URL and the diagnosis ids of its mistakes."""
    clean = _STRAY.sub("", text)
    mistakes = ["address.spaces"] if clean != text else []
    if KEY_LIKE.fullmatch(clean):
        raise ProbeError("address.is_key")
    if "://" not in clean:
        mistakes.append("address.no_scheme")
        clean = f"{_guess_scheme(clean)}://{clean}"
    parts = split(clean)
    if parts.username is not None or parts.password is not None:
        mistakes.append("address.login")
    if parts.query or parts.fragment or "?" in clean or "#" in clean:
        mistakes.append("address.parameter")
    path, path_mistakes = _parse_path(parts.path)
    port = parts.port or PORTS[parts.scheme]
    host = _ascii_host(parts.hostname or "")
    return BaseUrl(parts.scheme, host, port, path), mistakes + path_mistakes


def split(url: str) -> SplitResult:
    """Split an http or https URL; raise `ProbeError` if it is not one."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError:
        raise ProbeError("address.host") from None
    if parts.scheme not in PORTS:
        raise ProbeError("address.scheme", scheme=sanitize(parts.scheme) or "(none)")
    if not parts.hostname or parts.port == 0:
        raise ProbeError("address.host")
    return parts


def is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _ascii_host(host: str) -> str:
    """Return the host in its IDNA form; raise `ProbeError` if it is not valid."""
    try:
        name = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise ProbeError("address.host") from None
    if not _HOST_NAME.fullmatch(name) and not is_ip_address(name):
        raise ProbeError("address.host")
    return name


def _parse_path(given: str) -> tuple[str, list[str]]:
    path = re.sub("/{2,}", "/", given)
    mistakes = ["address.slashes"] if path != given else []
    trailing = path.endswith("/") and path != "/"
    path = path.rstrip("/")
    for endpoint in _ENDPOINTS:
        if path.endswith(endpoint):
            path = path.removesuffix(endpoint)
            mistakes.append("address.endpoint")
    while path.endswith(VERSION_PREFIX * 2):
        path = path.removesuffix(VERSION_PREFIX)
        mistakes.append("address.doubled")
    if not path.endswith(VERSION_PREFIX):
        # Anything after the version is removed, as an endpoint is.
        path = path.partition(VERSION_PREFIX + "/")[0] + VERSION_PREFIX
        mistakes.append("address.no_version")
    if trailing and not mistakes:
        mistakes.append("address.trailing_slash")
    return path, mistakes


def _guess_scheme(rest: str) -> str:
    """Return http for a local host, which rarely has a certificate, else https."""
    return "http" if _is_local(urlsplit(f"//{rest}").hostname or "") else "https"


def _encryption_id(base_url: BaseUrl) -> str:
    if base_url.is_encrypted or _is_local(base_url.host):
        return "address.ok"
    return "address.unencrypted"


def _is_local(host: str) -> bool:
    """Return whether the host is on this machine or in a private network."""
    if is_ip_address(host):
        return ipaddress.ip_address(host).is_private
    return "." not in host or host.endswith(_LOCAL_SUFFIXES)
