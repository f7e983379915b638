"""The API's certificate: the TLS context, and when the certificate expires.

OpenSSL goes on serving an expired certificate and only clients notice, so the expiry is
logged and exported as a metric.
"""

import asyncio
import logging
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

log = logging.getLogger("readback.api")

# Certificates are usually renewed 30 days before they expire, so if one expires this
# soon, its renewal has probably failed.
SOON = timedelta(days=14)
_DAY_SECONDS = 86_400.0


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    # Clients that offer only other protocols may still speak HTTP/1.1, so the handshake
    # goes on without ALPN, although RFC 7301 §3.2 would end it.
    context.set_alpn_protocols(["http/1.1"])
    return context


def expiry(path: Path) -> int:
    """Return when the first certificate in a file expires, in Unix time; 0 if unknown.

    OpenSSL has accepted the file, so it is used even if this parser rejects it.
    """
    # Imported here, because the import is slow and only needed with TLS.
    from cryptography.x509 import load_pem_x509_certificate

    try:
        certificate = load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        return 0
    return int(certificate.not_valid_after_utc.timestamp())


def log_expiry(expires: int) -> None:
    """Warn now and once a day if a certificate has expired or expires soon."""
    asyncio.get_running_loop().call_later(_DAY_SECONDS, log_expiry, expires)
    end = datetime.fromtimestamp(expires, UTC)
    if end - datetime.now(UTC) < SOON:
        log.warning(
            "The certificate is valid until %s, and clients refuse it after that: "
            "renew it, then reload the API with SIGHUP.",
            f"{end:%Y-%m-%d %H:%M:%SZ}",
        )
