"""The certificate and the private key of the API: what is wrong with their files.

OpenSSL decides what can be used. Its messages name neither the file nor the reason, so
what it refuses is examined here, to say both. Nothing here shows any part of a key.
"""

import re
import ssl
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from readback.config import Config
from readback.probe.connection.certificates import Certificate, read

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_PRIVATE_KEY = re.compile(r"^-----BEGIN (\w+ )?PRIVATE KEY-----", re.MULTILINE)
_ENCRYPTED = re.compile(r"-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED", re.MULTILINE)
_WEAK = {
    "EE_KEY_TOO_SMALL": "its key is too short",
    "CA_KEY_TOO_SMALL": "the key of its issuer is too short",
    "CA_MD_TOO_WEAK": "it is signed with a method that can be forged",
}


class UnusableCertificate(Exception):
    """What is wrong with one of the two files, and what to do."""

    def __init__(self, found: str, action: str) -> None:
        super().__init__(f"{found}. {action}")
        self.found = found
        self.action = action


def check(config: Config) -> list[Certificate]:
    """Return the certificates of the chain; raise `UnusableCertificate`."""
    assert config.tls_certificate and config.tls_key
    setting = f"READBACK_TLS_CERTIFICATE: {config.tls_certificate}"
    pems = list(_certificates(_text(setting, config.tls_certificate)))
    if not pems:
        raise UnusableCertificate(
            f"{setting} contains no certificate in PEM format",
            "A PEM file has lines with BEGIN CERTIFICATE; `openssl x509` converts "
            "other formats.",
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(
            cadata="\n".join(pems)
        )
    except (ssl.SSLError, TypeError):  # TypeError: it is not ASCII
        raise UnusableCertificate(
            f"{setting} is damaged: it contains a certificate that cannot be decoded",
            "Copy the file again.",
        ) from None
    _check_key_file(config.tls_key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(config.tls_certificate, config.tls_key, password="")
    except ssl.SSLError as error:
        reason = error.reason or ""
        raise _refusal(config.tls_certificate, config.tls_key, reason) from None
    return [read(ssl.PEM_cert_to_DER_cert(pem)) for pem in pems]


def _certificates(text: str) -> Iterator[str]:
    """Yield each certificate; one without its last line goes on until the next."""
    # Divided at the first lines, so that no part of a file is searched twice.
    for part in re.split(f"^(?={_BEGIN})", text, flags=re.MULTILINE)[1:]:
        body, end, _ = part.partition(f"\n{_END}")
        yield body + end


def is_for(host: str, certificate: Certificate) -> bool:
    """Return whether the certificate is valid for a host name or an IP address."""
    names = {name.lower() for name in certificate.hosts}
    with suppress(ValueError):
        return ip_address(host).exploded in names  # which are in the same form
    # RFC 9525 §6.3: the wildcard matches exactly one part of a name.
    return not names.isdisjoint({host, f"*.{host.partition('.')[2]}"})


def _text(setting: str, path: Path) -> str:
    try:
        content = path.read_bytes().removeprefix(BOM_UTF8)  # OpenSSL ignores it, too
    except OSError as error:
        raise UnusableCertificate(
            f"{setting} cannot be read: {error.strerror}",
            "Check the path, and that the user of the service may read the file.",
        ) from None
    return content.decode("ascii", "replace")


def _check_key_file(path: Path) -> None:
    setting = f"READBACK_TLS_KEY: {path}"
    text = _text(setting, path)
    if not _PRIVATE_KEY.search(text):
        raise UnusableCertificate(
            f"{setting} contains no private key in PEM format",
            "A PEM file has lines with BEGIN PRIVATE KEY; `openssl pkey` converts "
            "other formats.",
        )
    if _ENCRYPTED.search(text):
        raise UnusableCertificate(
            f"{setting} is protected by a password, which a start does not ask for",
            "Remove the password with `openssl pkey`, and make the file readable only "
            "by the user of the service.",
        )


def _refusal(certificate: Path, key: Path, reason: str) -> UnusableCertificate:
    if reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
        return UnusableCertificate(
            f"READBACK_TLS_KEY: {key} does not belong to the first certificate in "
            f"{certificate}",
            "Set both to files that were issued together. In a chain, the server's own "
            "certificate comes first.",
        )
    if reason in _WEAK:
        return UnusableCertificate(
            f"READBACK_TLS_CERTIFICATE: {certificate} is too weak: {_WEAK[reason]}",
            "Get a certificate with an RSA key of 2048 bits or more, or an EC key.",
        )
    # The certificates can be decoded, so it is the key.
    return UnusableCertificate(
        f"READBACK_TLS_KEY: {key} is damaged: its private key cannot be decoded",
        "Copy the file again.",
    )
