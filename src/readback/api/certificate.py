"""When a certificate expires; the context of `http/tls.py` does not tell."""

from pathlib import Path


def expiry(path: Path) -> int:
    """Return the end of the first certificate in a file, in Unix time; 0 if unknown.

    The server's own certificate comes first. OpenSSL has accepted the file already, so
    a certificate that this parser refuses is no reason not to serve.
    """
    # Only servers with TLS need it, and importing it takes a while.
    from cryptography.x509 import load_pem_x509_certificate

    try:
        certificate = load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        return 0
    return int(certificate.not_valid_after_utc.timestamp())
