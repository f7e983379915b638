"""What other programs read on this machine: variables, `.netrc`, certificates.

The openai package reads the environment and never a `.env` file; other programs load
that file into the environment first. A value is never shown: only where it is, which
host it names, and the mask of a Readback key.

A store of certificates is *public* if it is a list that comes with the system or with a
program; a file that a variable names, and that is none of these, is *private*: it is
there to make a company's own authority trusted. The rules were found by running the
versions in `comparison`, on Debian, against servers whose authorities were in one store
each.
"""

from __future__ import annotations

import netrc
import os
import re
import shlex
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from readback.probe.common.formatting import sanitize
from readback.probe.common.results import ProbeError
from readback.probe.entered.base_url import BaseUrl, split
from readback.probe.entered.key import Secret

_MAX_FILE_BYTES = 1 << 20
_NETRC_NAMES = (".netrc", "_netrc")
BASE_URL = "OPENAI_BASE_URL"
API_KEY = "OPENAI_API_KEY"
_ASSIGNMENT = re.compile(r"""\s*(?:export\s+)?(\w+)\s*=\s*("[^"]*"|'[^']*'|[^\s#]*)""")
SYSTEM = "the system's list"
CERTIFI = "the list of certifi"
OWN = "its own list"
_PUBLIC_PATHS = (
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
)


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
        try:
            url = split(self.base_url)
            return replace(url, path=url.path.rstrip("/")) == target
        except ProbeError:
            return False

    def shown_url(self, target: BaseUrl) -> str:
        """Return the host; a path may contain something secret."""
        try:
            origin = split(self.base_url).origin
        except ProbeError:
            return "something that is not an address"
        is_here = origin == target.origin
        return "another path of this host" if is_here else sanitize(origin)

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


class StoreChoice(NamedTuple):
    """The stores of a program, as shown, and what is special about them."""

    shown: str
    private: str = ""
    """The private file or folder among them, as shown."""
    problem: str = ""
    """Why the program fails with this setting."""


def requests_store(machine: Machine) -> StoreChoice:
    variable, path = machine.first("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    if not path:
        return StoreChoice(CERTIFI)
    return _named(path, variable, _why_unreadable(path, folders=True))


def httpx_store(machine: Machine) -> StoreChoice:
    return _from_openssl_variables(machine) or StoreChoice(CERTIFI)


def httpx2_store(machine: Machine) -> StoreChoice:
    return _from_openssl_variables(machine) or StoreChoice(SYSTEM)


def curl_store(machine: Machine) -> StoreChoice:
    # The file and the folder of the system stay in use beside each other.
    variable, path = machine.first("CURL_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE")
    if not path:
        return StoreChoice(SYSTEM)
    if variable == "SSL_CERT_DIR":
        return _beside(SYSTEM, [path] if os.path.isdir(path) else [])
    return _named(path, variable, _why_unreadable(path), SYSTEM)


def node_store(machine: Machine) -> StoreChoice:
    base, paths = OWN, []
    if "--use-openssl-ca" in machine.words("NODE_OPTIONS"):
        base = SYSTEM
        named = machine.variables.get("SSL_CERT_FILE", "")
        paths = [named] if os.path.exists(named) else []
    extra = machine.variables.get("NODE_EXTRA_CA_CERTS", "")
    # A file that cannot be read causes a warning, no more.
    if extra and not _why_unreadable(extra):
        paths.append(extra)
    return _beside(base, paths)


def _from_openssl_variables(machine: Machine) -> StoreChoice | None:
    if file := machine.variables.get("SSL_CERT_FILE"):
        return _named(file, "SSL_CERT_FILE", _why_unreadable(file))
    if folder := machine.variables.get("SSL_CERT_DIR"):
        problem = "" if os.path.isdir(folder) else "is not a folder"
        return _named(folder, "SSL_CERT_DIR", problem)
    return None


def _named(path: str, variable: str, problem: str, base: str = "") -> StoreChoice:
    if problem:
        return StoreChoice("", problem=f"{variable} {problem}")
    return _beside(base, [path])


def _beside(base: str, paths: list[str]) -> StoreChoice:
    shown = [base] if base else []
    private = [sanitize(path) for path in paths if not _is_public(path)]
    if len(private) < len(paths):
        shown = shown or [SYSTEM]
    return StoreChoice(" and ".join(shown + private), ", ".join(private))


def _is_public(path: str) -> bool:
    paths = ssl.get_default_verify_paths()
    known = {*_PUBLIC_PATHS, paths.openssl_cafile, paths.openssl_capath}
    name = os.path.realpath(path)
    if name.replace("\\", "/").endswith("certifi/cacert.pem"):
        return True
    return name in {os.path.realpath(one) for one in known}


def _why_unreadable(path: str, *, folders: bool = False) -> str:
    """Return why a file with certificates cannot be used, or ""."""
    if not os.path.exists(path):
        return "names a file that does not exist"
    if os.path.isdir(path):
        return "" if folders else "names a folder"
    text = read_file(Path(path))
    if text is None:
        return "names a file that cannot be read"
    return "" if "-----BEGIN " in text else "names a file without certificates"
