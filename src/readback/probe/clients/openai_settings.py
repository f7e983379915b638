"""Which base URL, key and headers the openai package would take from its variables.

It reads the environment and never a `.env` file; other programs load that file into
the environment first. A value is never shown: only where it is, which host it names,
and the mask of a Readback key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from readback import keys
from readback.probe.clients.machine import Machine, read_file
from readback.probe.common.formatting import sanitize
from readback.probe.entered.base_url import PORTS, BaseUrl
from readback.probe.entered.secret import Secret

BASE_URL = "OPENAI_BASE_URL"
API_KEY = "OPENAI_API_KEY"
CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"
_ASSIGNMENT = re.compile(r"""\s*(?:export\s+)?(\w+)\s*=\s*("[^"]*"|'[^']*'|[^\s#]*)""")


@dataclass(frozen=True)
class OpenAISettings:
    """The values of one source: the environment or a `.env` file."""

    base_url: str
    key: Secret

    def names(self, target: BaseUrl) -> bool:
        return _parts(self.base_url) == (
            target.scheme,
            target.host,
            target.port,
            target.path,
        )

    def shown_url(self, target: BaseUrl) -> str:
        """Return the host; a path may contain something secret."""
        parts = _parts(self.base_url)
        if parts is None:
            return "something that is not an address"
        scheme, host, port, _ = parts
        if (scheme, host, port) == (target.scheme, target.host, target.port):
            return "another path of this host"
        return sanitize(str(BaseUrl(scheme, host, port, "")))

    @property
    def shown_key(self) -> str:
        text = self.key.reveal()
        if keys.why_invalid(text.encode("utf-8", "replace")) is None:
            return f"the key {self.key.mask}"
        return "something that is not a Readback key"

    @property
    def sources(self) -> str:
        """Where the values come from, without the values."""
        taken = [f"the base URL from {BASE_URL}"] if self.base_url else []
        if self.key:
            taken.append(f"{self.shown_key} from {API_KEY}")
        return " and ".join(taken)

    @property
    def has_readback_key(self) -> bool:
        return keys.why_invalid(self.key.reveal().encode("utf-8", "replace")) is None


def from_environment(machine: Machine) -> OpenAISettings:
    return _settings(machine.variables)


def from_env_file(machine: Machine) -> OpenAISettings:
    """Return what a program would find that loads `.env` of the current folder."""
    text = read_file(machine.folder / Path(".env")) or ""
    found = {
        match[1]: match[2].strip("\"'")
        for line in text.splitlines()
        if (match := _ASSIGNMENT.match(line))
    }
    return _settings(found)


def replaces_authorization(machine: Machine) -> bool:
    """Return whether OPENAI_CUSTOM_HEADERS contains an Authorization header."""
    lines = machine.variables.get(CUSTOM_HEADERS, "").splitlines()
    names = (line.partition(":")[0].strip().lower() for line in lines)
    return "authorization" in names


def _settings(values: Mapping[str, str]) -> OpenAISettings:
    return OpenAISettings(
        values.get(BASE_URL, "").strip(), Secret(values.get(API_KEY, "").strip())
    )


def _parts(url: str) -> tuple[str, str, int, str] | None:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in PORTS or not host:
        return None
    return parts.scheme, host, port or PORTS[parts.scheme], parts.path.rstrip("/")
