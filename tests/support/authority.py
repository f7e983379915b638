"""A certificate authority for tests, which also signs invalid certificates."""

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
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


class Authority:
    """Signs certificates; `root` is the file that makes a client trust them."""

    def __init__(self, folder: Path, name: str = "Tests Root") -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        now = datetime.now(UTC)
        builder = _builder(self._name, self._name, self._key, now - DAY, now + 99 * DAY)
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        builder = builder.add_extension(constraints, critical=True)
        # Python 3.13 verifies strictly, and requires these of an authority.
        own = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = builder.add_extension(own, critical=False)
        uses = dict.fromkeys(_KEY_USES, False) | {"key_cert_sign": True}
        builder = builder.add_extension(x509.KeyUsage(**uses), critical=True)
        self.root = folder / "root.pem"
        signed = builder.sign(self._key, hashes.SHA256())
        self.root.write_bytes(signed.public_bytes(Encoding.PEM))

    def serves(self, host: str = "localhost", **validity: Any) -> ssl.SSLContext:
        """Return a server context with a new certificate for a host."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.issue(host, **validity))
        return context

    def issue(
        self,
        host: str = "localhost",
        since: timedelta = -DAY,
        until: timedelta = 90 * DAY,
        *,
        self_signed: bool = False,
    ) -> Path:
        """Return a file with a new certificate for a host and its private key."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer, signer = (self._name, self._key)
        if self_signed:
            issuer, signer = (_name(host), key)
        now = datetime.now(UTC)
        builder = _builder(_name(host), issuer, key, now + since, now + until)
        names = x509.SubjectAlternativeName([_general_name(host)])
        signed_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(
            signer.public_key()
        )
        builder = builder.add_extension(signed_by, critical=False)
        certificate = builder.add_extension(names, critical=False).sign(
            signer, hashes.SHA256()
        )
        chain = self._folder / f"{certificate.serial_number:x}.pem"
        chain.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            + certificate.public_bytes(Encoding.PEM)
        )
        return chain


def _builder(subject, issuer, key, since, until) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
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
