"""The certificate stores of this machine, and what makes one of them unusable.

Python programs use one of three stores: the one that SSL_CERT_FILE or SSL_CERT_DIR
names, the list that comes with certifi, or that of the machine. OpenSSL ignores a store
that it cannot read, and then trusts nothing, so the files are looked at here.
"""

from __future__ import annotations

import os
import re
import ssl
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from errno import EPIPE

import certifi

from readback.probe.common.catalogue import say
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Fact, ProbeError
from readback.probe.transport.handshake import new_context

_FILE, _FOLDER, _KEY_LOG = "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"
# The name under which OpenSSL looks for a certificate in a directory.
_HASHED = re.compile(r"[0-9a-f]{8}\.\d+")
_NO_CERTIFICATE = ("NO_CERTIFICATE_OR_CRL_FOUND", "NO_START_LINE")


class StoreKind(Enum):
    VARIABLE = "the file or directory that a variable names"
    CERTIFI = "the list that many Python programs carry"
    MACHINE = "the store of this machine"


@dataclass(frozen=True)
class CertificateStore:
    kind: StoreKind
    trust: ssl.SSLContext


@dataclass
class CertificateStores:
    usable: list[CertificateStore] = field(default_factory=list)
    """The best one first."""
    trouble: ProbeError | None = None
    """Why Python programs cannot use the store that the environment sets."""
    has_machine_store: bool = True


def find() -> CertificateStores:
    """Return the store that is set and certifi's, or else certifi's and this machine's.

    There is always one, even if it contains no certificate.
    """
    stores = CertificateStores()
    try:
        _log_keys(new_context())
    except OSError as error:
        name = sanitize(os.environ[_KEY_LOG])
        stores.trouble = _trouble(_KEY_LOG, name, _reason(error))
    certifis = CertificateStore(StoreKind.CERTIFI, _new_context())
    carried = [certifis] if _load_certifi(certifis.trust) else []
    if not is_named():
        machine = _new_context()
        machine.load_default_certs()
        # Certificates in a directory are loaded only when they are needed.
        folder = ssl.get_default_verify_paths().capath
        stores.has_machine_store = machine.cert_store_stats()["x509"] > 0
        with suppress(OSError):
            stores.has_machine_store |= bool(folder) and _has_hashes(folder)
        stores.usable = [*carried, CertificateStore(StoreKind.MACHINE, machine)]
        return stores
    chosen = CertificateStore(StoreKind.VARIABLE, _new_context())
    try:
        _load_variables(chosen.trust)
        stores.usable = [chosen, *carried]
    except ProbeError as error:
        stores.usable, stores.trouble = carried or [chosen], error
    # Tried last: if only this one trusts the server, the variable is the cause.
    stores.usable.append(CertificateStore(StoreKind.MACHINE, _machine()))
    return stores


def _machine() -> ssl.SSLContext:
    """Return a context with the store of this machine, whatever the variables say."""
    trust = _new_context()
    paths = ssl.get_default_verify_paths()
    with suppress(OSError, ValueError):
        trust.load_verify_locations(paths.openssl_cafile)
    with suppress(OSError, ValueError):
        trust.load_verify_locations(capath=paths.openssl_capath)
    return trust


def together() -> ssl.SSLContext:
    """Return a context that trusts what any of the usable stores trusts."""
    trust = _new_context()
    if is_named():
        with suppress(ProbeError):
            _load_variables(trust)
    else:
        trust.load_default_certs()
    _load_certifi(trust)
    return trust


def has_certificates() -> bool:
    """Return whether any store has a certificate that Python programs can find."""
    found = find()
    carried = any(one.kind is StoreKind.CERTIFI for one in found.usable)
    return carried or is_named() or found.has_machine_store


def is_named() -> bool:
    return bool(os.environ.get(_FILE) or os.environ.get(_FOLDER))


def _new_context() -> ssl.SSLContext:
    trust = new_context()
    with suppress(OSError):
        _log_keys(trust)
    return trust


def _log_keys(trust: ssl.SSLContext) -> None:
    """Do what Python does with SSLKEYLOGFILE for every new connection."""
    if name := os.environ.get(_KEY_LOG):
        if os.path.exists(name) and stat.S_ISFIFO(os.stat(name).st_mode):
            raise OSError(EPIPE, say("is_pipe"))  # Opening it could hang.
        trust.keylog_filename = name


def _load_certifi(trust: ssl.SSLContext) -> bool:
    # Linux distributions let certifi read a file of the machine, which may be missing.
    try:
        trust.load_verify_locations(cadata=certifi.contents())
    except (OSError, ValueError):
        return False
    return True


def _load_variables(trust: ssl.SSLContext) -> None:
    try:
        if name := os.environ.get(_FILE, ""):
            # Reading a pipe or a device could hang.
            if not stat.S_ISREG(os.stat(name).st_mode):
                raise _trouble(_FILE, name, say("is_not_file"))
            trust.load_verify_locations(cafile=name)
    except FileNotFoundError:
        raise _trouble(_FILE, name, say("does_not_exist")) from None
    except ssl.SSLError as error:
        is_empty = error.reason in _NO_CERTIFICATE
        empty = say("contains_no_certificate")
        raise _trouble(_FILE, name, empty if is_empty else _reason(error)) from None
    except (OSError, ValueError) as error:
        raise _trouble(_FILE, name, _reason(error)) from None
    if not (names := os.environ.get(_FOLDER)):
        return
    folders = [name for name in names.split(os.pathsep) if os.path.isdir(name)]
    if not folders:
        raise _trouble(_FOLDER, names, say("does_not_exist"))
    try:
        if not any(map(_has_hashes, folders)):
            raise _trouble(_FOLDER, names, say("no_hashes"))
    except OSError as error:
        raise _trouble(_FOLDER, names, _reason(error)) from None
    trust.load_verify_locations(capath=names)


def _has_hashes(folder: str) -> bool:
    return any(_HASHED.fullmatch(name) for name in os.listdir(folder))


def _trouble(variable: str, path: str, reason: str) -> ProbeError:
    facts = {"variable": variable, "path": sanitize(path), "reason": reason}
    return ProbeError("tls.store", **facts)


def named() -> dict[str, Fact]:
    """Return the variable that names a store, and what it names."""
    variable = _FILE if os.environ.get(_FILE) else _FOLDER
    return {"variable": variable, "path": sanitize(os.environ.get(variable, ""))}


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
    return sanitize(str(reason or error)).replace("_", " ").lower()
