"""The certificate stores that Python programs use, and why one may be unusable.

There are three: the one named by SSL_CERT_FILE or SSL_CERT_DIR, the list that comes
with certifi, and the machine's own. OpenSSL ignores a store that it cannot read and
then trusts nothing, so the files are checked here.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum

import certifi

from readback.probe.common.catalogue import say
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import ProbeError
from readback.probe.transport.handshake import new_context

_FILE = "SSL_CERT_FILE"
_FOLDER = "SSL_CERT_DIR"
OPTION = "--cacert"
OTHER_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
# The name under which OpenSSL looks for a certificate in a directory.
_HASHED = re.compile(r"[0-9a-f]{8}\.\d+")


class StoreKind(Enum):
    VARIABLE = "the file or directory that a variable names"
    CERTIFI = "the list that many Python programs carry"
    MACHINE = "the store of this machine"


def find(
    authorities: str = "", certificate: str = ""
) -> tuple[dict[StoreKind, ssl.SSLContext], ProbeError | None]:
    """Return the usable stores (or that of --cacert), and why a named one is not."""
    usable = {}
    trouble = None
    chosen = new_context()
    if authorities:
        chosen.load_verify_locations(authorities)
        usable[StoreKind.VARIABLE] = chosen
    else:
        carried = new_context()
        is_carried = _load_certifi(carried)
        trouble = _load_variables(chosen)
        if naming_variable() and not (trouble and is_carried):
            usable[StoreKind.VARIABLE] = chosen
        if is_carried:
            usable[StoreKind.CERTIFI] = carried
        # Last: if only this store trusts the server, a variable (if set) is to blame.
        usable[StoreKind.MACHINE] = _machine()
    for trust in usable.values() if certificate else ():
        trust.load_cert_chain(certificate)
    return usable, trouble


def _machine() -> ssl.SSLContext:
    trust = new_context()
    if not naming_variable():
        trust.load_default_certs()
        return trust
    paths = ssl.get_default_verify_paths()
    with suppress(OSError, ValueError):
        trust.load_verify_locations(paths.openssl_cafile)
    with suppress(OSError, ValueError):
        trust.load_verify_locations(capath=paths.openssl_capath)
    return trust


def together() -> ssl.SSLContext:
    """Return a context with certifi's list and the named (or the machine's) store."""
    trust = new_context()
    if naming_variable():
        _load_variables(trust)  # checks the files first: a named pipe would block
    else:
        trust.load_default_certs()
    _load_certifi(trust)
    return trust


def naming_variable() -> str | None:
    return next(filter(os.environ.get, (_FILE, _FOLDER)), None)


def named(authorities: str) -> tuple[str, str] | None:
    """Return the option or variable that names a store, and the path that it gives."""
    if authorities:
        return OPTION, authorities
    variable = naming_variable()
    return (variable, sanitize(os.environ[variable])) if variable else None


def of_others() -> Iterator[tuple[str, ssl.SSLContext]]:
    """Yield the variables of other programs, each with a context that uses its file."""
    for variable in OTHER_VARIABLES:
        path = os.environ.get(variable, "")
        if os.path.isfile(path) and not why_unusable(path):
            trust = new_context()
            trust.load_verify_locations(path)
            yield variable, trust


def unusable(variable: str, reason: str) -> ProbeError:
    path = sanitize(os.environ.get(variable, ""))
    return ProbeError("tls.store", variable=variable, path=path, reason=reason)


def _load_certifi(trust: ssl.SSLContext) -> bool:
    # On some Linux distributions, certifi reads a system file, which may be missing.
    try:
        trust.load_verify_locations(cadata=certifi.contents())
    except (OSError, ValueError):
        return False
    return True


def _load_variables(trust: ssl.SSLContext) -> ProbeError | None:
    """Load the files that the variables name; return an error if one is unusable."""
    for variable, option in ((_FILE, "cafile"), (_FOLDER, "capath")):
        if not (name := os.environ.get(variable, "")):
            continue
        names = name.split(os.pathsep) if variable == _FOLDER else [name]
        reasons = [why_unusable(folder) for folder in names]
        if all(reasons):
            return unusable(variable, reasons[0])
        trust.load_verify_locations(**{option: name})
    return None


def why_unusable(path: str) -> str:
    """Return why a file or directory has no usable certificates, or ""."""
    if not os.path.exists(path):
        return say("does_not_exist")
    if os.path.isdir(path):
        with suppress(OSError):
            if any(map(_HASHED.fullmatch, os.listdir(path))):
                return ""
        return say("no_hashes")
    with suppress(OSError, ValueError):
        if os.path.isfile(path):  # A named pipe would block.
            new_context().load_verify_locations(path)
            return ""
    return say("contains_no_certificate")


def why_no_identity(path: str) -> str:
    """Return why a file is not a client certificate with its key, or ""."""
    if not os.path.exists(path):
        return say("does_not_exist")
    with suppress(OSError, ValueError):
        if os.path.isfile(path):  # A named pipe would block.
            new_context().load_cert_chain(path, password=lambda: "unknown")
            return ""
    return say("contains_no_identity")
