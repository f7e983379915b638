"""A certificate authority that also signs invalid certificates."""

import ipaddress
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)
_KEY_USES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


Change = tuple[x509.ExtensionType, bool] | None
"""An extension and whether it is critical; None leaves it out."""


class Authority:
    """Signs certificates that are trusted by clients that load the file `root`.

    An authority with a parent is an intermediate one; servers send its certificate with
    their own.
    """

    def __init__(
        self,
        folder: Path,
        name: str = "Tests Root",
        *,
        parent: "Authority | None" = None,
        since: timedelta = -DAY,
        until: timedelta = 99 * DAY,
        changes: Mapping[type, Change] = MappingProxyType({}),
    ) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._key = _new_key()
        self._name = _name(name)
        issuer = parent or self
        public = self._key.public_key()
        uses = dict.fromkeys(_KEY_USES, False) | {"key_cert_sign": True}
        # Python 3.13 verifies strictly, and requires these extensions of an authority.
        extensions: dict[type, Change] = {
            x509.BasicConstraints: (x509.BasicConstraints(True, None), True),
            x509.SubjectKeyIdentifier: (
                x509.SubjectKeyIdentifier.from_public_key(public),
                False,
            ),
            x509.KeyUsage: (x509.KeyUsage(**uses), True),
        }
        if parent:
            extensions |= _signature(parent._key)
        now = datetime.now(UTC)
        builder = _builder(self._name, issuer._name, public, now + since, now + until)
        signed = _extended(builder, {**extensions, **changes}).sign(
            issuer._key, hashes.SHA256()
        )
        self.pem = signed.public_bytes(Encoding.PEM)
        self.chain: list[bytes] = [self.pem, *parent.chain] if parent else []
        """The certificates that servers send after their own."""
        self.root = folder / "root.pem"
        self.root.write_bytes(self.pem)

    def serves(self, host: str = "localhost", **options: Any) -> ssl.SSLContext:
        """Return a server context with a new certificate for a host."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if "new_key" in options:  # OpenSSL might refuse the key otherwise.
            context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.load_cert_chain(self.issue(host, **options))
        return context

    def issue(
        self,
        host: str = "localhost",
        since: timedelta = -DAY,
        until: timedelta = 90 * DAY,
        *,
        self_signed: bool = False,
        changes: Mapping[type, Change] = MappingProxyType({}),
        new_key: Callable[[], Any] = _new_key,
        chain: list[bytes] | None = None,
    ) -> Path:
        """Return a file with a new certificate for a host, its chain and its key."""
        key = new_key()
        issuer = self._name
        signer = self._key
        if self_signed:
            issuer = _name(host)
            signer = key
        now = datetime.now(UTC)
        public = key.public_key()
        builder = _builder(_name(host), issuer, public, now + since, now + until)
        names = x509.SubjectAlternativeName([_general_name(host)])
        extensions: dict[type, Change] = {
            x509.SubjectAlternativeName: (names, False),
            **_signature(signer),
        }
        certificate = _extended(builder, {**extensions, **changes}).sign(
            signer, hashes.SHA256()
        )
        path = self._folder / f"{certificate.serial_number:x}.pem"
        path.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            + certificate.public_bytes(Encoding.PEM)
            + b"".join(self.chain if chain is None else chain)
        )
        return path


def _signature(signer: Any) -> dict[type, Change]:
    """Return the extension that names the issuer's key."""
    kind = x509.AuthorityKeyIdentifier
    return {kind: (kind.from_issuer_public_key(signer.public_key()), False)}


def _extended(
    builder: x509.CertificateBuilder, extensions: Mapping[type, Change]
) -> x509.CertificateBuilder:
    for extension in extensions.values():
        if extension is not None:
            builder = builder.add_extension(*extension)
    return builder


def _builder(subject, issuer, public, since, until) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
