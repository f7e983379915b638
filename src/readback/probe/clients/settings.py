"""What other programs read on this machine: variables, `.netrc`, settings of openai.

The openai package reads the environment and never a `.env` file; other programs load
that file into the environment first. A value is never shown: only where it is, which
host it names, and the mask of a Readback key.
"""

from __future__ import annotations

import netrc
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from readback.probe.common.formatting import sanitize
from readback.probe.entered.base_url import PORTS, BaseUrl
from readback.probe.entered.secret import Secret

_MAX_FILE_BYTES = 1 << 20
_NETRC_NAMES = (".netrc", "_netrc")
BASE_URL = "OPENAI_BASE_URL"
API_KEY = "OPENAI_API_KEY"
CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"
_ASSIGNMENT = re.compile(r"""\s*(?:export\s+)?(\w+)\s*=\s*("[^"]*"|'[^']*'|[^\s#]*)""")


@dataclass(frozen=True)
class Machine:
    """The settings that programs started in the current folder would find."""

    variables: Mapping[str, str]
    home: Path
    folder: Path

    @classmethod
    def here(cls) -> Machine:
        variables = dict(os.environ)
        home = variables.get("HOME") or variables.get("USERPROFILE") or os.curdir
        return cls(variables, Path(home), Path(os.curdir))

    def first(self, *names: str) -> tuple[str, str]:
        """Return the first of these variables that is not empty, and its value."""
        found = ((name, self.variables.get(name, "")) for name in names)
        return next((pair for pair in found if pair[1]), ("", ""))

    def words(self, name: str) -> list[str]:
        """Return the words of a variable that holds command-line options."""
        value = self.variables.get(name, "")
        try:
            return shlex.split(value)
        except ValueError:  # an unclosed quotation mark
            return value.split()

    def java_property(self, name: str) -> str:
        """Return a system property that the environment sets for every Java."""
        value = ""
        # The last one wins, as tried with Java 17.
        for variable in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"):
            for word in self.words(variable):
                if word.startswith(f"-D{name}="):
                    value = word.partition("=")[2]
        return value


def read_file(path: Path) -> str | None:
    """Return the beginning of a text file, or None if it cannot be read."""
    try:
        # A named pipe would block.
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(_MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def netrc_with_login(host: str, machine: Machine) -> Path | None:
    """Return the file that has a login for this host, or None."""
    named = machine.variables.get("NETRC")
    if named is not None:
        rest = named.removeprefix("~/")
        path: Path | None = machine.home / rest if rest != named else Path(named)
    else:
        paths = (machine.home / name for name in _NETRC_NAMES)
        path = next((one for one in paths if os.path.isfile(one)), None)
    if path is None or read_file(path) is None:
        return None
    try:
        login = netrc.netrc(str(path)).authenticators(host)
    except (netrc.NetrcParseError, OSError, ValueError):
        return None
    return path if login and any(login) else None


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
        if self.key.is_readback_key:
            return f"the key {self.key.mask}"
        return "something that is not a Readback key"

    @property
    def sources(self) -> str:
        """Where the values come from, without the values."""
        taken = [f"the base URL from {BASE_URL}"] if self.base_url else []
        if self.key:
            taken.append(f"{self.shown_key} from {API_KEY}")
        return " and ".join(taken)


def openai_settings(values: Mapping[str, str]) -> OpenAISettings:
    return OpenAISettings(
        values.get(BASE_URL, "").strip(), Secret(values.get(API_KEY, "").strip())
    )


def openai_env_file(machine: Machine) -> OpenAISettings:
    """Return what a program would find that loads `.env` of the current folder."""
    text = read_file(machine.folder / Path(".env")) or ""
    found = {
        match[1]: match[2].strip("\"'")
        for line in text.splitlines()
        if (match := _ASSIGNMENT.match(line))
    }
    return openai_settings(found)


def replaces_authorization(machine: Machine) -> bool:
    """Return whether OPENAI_CUSTOM_HEADERS contains an Authorization header."""
    lines = machine.variables.get(CUSTOM_HEADERS, "").splitlines()
    names = (line.partition(":")[0].strip().lower() for line in lines)
    return "authorization" in names


def _parts(url: str) -> tuple[str, str, int, str] | None:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in PORTS or not host:
        return None
    return parts.scheme, host, port or PORTS[parts.scheme], parts.path.rstrip("/")
