"""Which certificates each program would trust.

A store is *public* if it is a list that comes with the system or with a program; a
file that a variable names, and that is none of these, is *private*: it is there to make
a company's own authority trusted. The rules were found by running the versions in
`comparison`, on Debian, against servers whose authorities were in one store each.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import NamedTuple

from readback.probe.clients.settings import Machine, read_file
from readback.probe.common.formatting import sanitize

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
    return _only(path, variable, _why_unreadable(path, folders=True))


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
    if problem := _why_unreadable(path):
        return StoreChoice("", problem=f"{variable} {problem}")
    return _beside(SYSTEM, [path])


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
        return _only(file, "SSL_CERT_FILE", _why_unreadable(file))
    if folder := machine.variables.get("SSL_CERT_DIR"):
        problem = "" if os.path.isdir(folder) else "is not a folder"
        return _only(folder, "SSL_CERT_DIR", problem)
    return None


def _only(path: str, variable: str, problem: str) -> StoreChoice:
    if problem:
        return StoreChoice("", problem=f"{variable} {problem}")
    return _beside("", [path])


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
