"""The step "TLS": version, certificate, host name, expiry and interception.

The handshake is tried with two certificate stores: first the one that Python programs
carry with them (certifi), then the one of this machine. If only one of them
trusts the certificate, some programs work and others do not.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Iterable

import certifi

from readback.probe.connection import certificates, opening
from readback.probe.connection.certificates import Certificate
from readback.probe.context import ProbeContext
from readback.probe.diagnoses import diagnose
from readback.probe.formatting import format_duration, format_seconds, sanitize
from readback.probe.results import Diagnosis, Fact, ProbeError

_EXPIRES_SOON_DAYS = 14
# The X509_V_ERR_… codes of OpenSSL, from x509_vfy.h.
_UNTRUSTED = {
    9: "tls.not_yet_valid",
    10: "tls.expired",
    18: "tls.self_signed",
    19: "tls.unknown_issuer",
    20: "tls.unknown_issuer",
    21: "tls.unknown_issuer",
    62: "tls.wrong_name",
    64: "tls.wrong_name",
}


def certificate_stores() -> tuple[ssl.SSLContext, ...]:
    """Return the store that is set, or else certifi's and this machine's."""
    default = ssl.create_default_context()
    # OpenSSL reads these variables itself.
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return (default,)
    return ssl.create_default_context(cadata=certifi.contents()), default


def check(
    context: ProbeContext, trusted: Iterable[ssl.SSLContext]
) -> tuple[Diagnosis, ssl.SSLContext]:
    """Make a verified handshake; return its diagnosis and the store that trusts it."""
    errors = []
    for store in trusted:
        try:
            diagnosis = _handshake(context, store)
        except ssl.SSLCertVerificationError as error:
            errors.append(error)
            continue
        return _only_system(diagnosis) if errors else diagnosis, store
    raise _untrusted(context, errors[0])


def speaks_tls(context: ProbeContext) -> bool:
    try:
        return bool(_fetch_certificate(context))
    except (OSError, ProbeError):
        return False


def _handshake(context: ProbeContext, store: ssl.SSLContext) -> Diagnosis:
    host = context.base_url.host
    sock = _open_connection(context)
    started = time.monotonic()
    try:
        with store.wrap_socket(sock, server_hostname=host) as encrypted:
            elapsed = time.monotonic() - started
            der = encrypted.getpeercert(binary_form=True) or b""
            version = encrypted.version() or "TLS"
    except ssl.SSLCertVerificationError:
        raise
    except OSError as error:
        raise _handshake_error(error, context) from None
    finally:
        sock.close()
    return _verified(certificates.read(der), version, elapsed)


def _open_connection(context: ProbeContext) -> socket.socket:
    try:
        return opening.open_socket(context.route, context.timeout)
    except OSError as error:
        raise ProbeError("http.no_connection", reason=sanitize(str(error))) from None


def _verified(certificate: Certificate, version: str, elapsed: float) -> Diagnosis:
    id = "tls.ok"
    if certificate.is_interception:
        id = "tls.intercepted_trusted"
    elif (days := certificate.days_left) is not None and days < _EXPIRES_SOON_DAYS:
        id = "tls.expires_soon"
    return diagnose(
        id,
        figure=format_duration(elapsed),
        version=version.replace("v", " "),
        milliseconds=round(elapsed * 1000, 3),
        days=certificate.days_left,
        **_facts(certificate),
    )


def _only_system(diagnosis: Diagnosis) -> Diagnosis:
    return diagnose("tls.only_system", figure=diagnosis.figure, **diagnosis.facts)


def _untrusted(
    context: ProbeContext, error: ssl.SSLCertVerificationError
) -> ProbeError:
    der = _fetch_certificate(context)
    certificate = certificates.read(der)
    id = _UNTRUSTED.get(error.verify_code, "tls.untrusted")
    if id in ("tls.unknown_issuer", "tls.self_signed") and certificate.is_interception:
        id = "tls.intercepted"
    reason = sanitize(error.verify_message)
    return ProbeError(
        id, host=context.base_url.host, reason=reason, **_facts(certificate)
    )


def _fetch_certificate(context: ProbeContext) -> bytes:
    """Return the certificate without verifying it, only to describe it."""
    host = context.base_url.host
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    with (
        _open_connection(context) as sock,
        unverified.wrap_socket(sock, server_hostname=host) as encrypted,
    ):
        return encrypted.getpeercert(binary_form=True) or b""


def _handshake_error(error: OSError, context: ProbeContext) -> ProbeError:
    if isinstance(error, (socket.timeout, TimeoutError)):
        return ProbeError("tls.silent", timeout=format_seconds(context.timeout))
    reason = getattr(error, "reason", None) or ""
    if "ALERT" in reason and "VERSION_NUMBER" not in reason:
        return ProbeError(
            "tls.refused", reason=sanitize(reason.replace("_", " ").lower())
        )
    if _is_plain_http(context):
        return ProbeError("tls.plain_http", port=context.base_url.port)
    is_tls_error = isinstance(error, ssl.SSLError)
    is_closed = isinstance(error, ssl.SSLEOFError) or not is_tls_error
    id = "tls.cut" if is_closed else "tls.not_tls"
    return ProbeError(id, port=context.base_url.port)


def _is_plain_http(context: ProbeContext) -> bool:
    if context.route.proxy:
        return False
    context.budget.spend()
    return opening.first_bytes(context.route, context.timeout).startswith(b"HTTP/")


def _facts(certificate: Certificate) -> dict[str, Fact]:
    return {
        "subject": certificate.subject,
        "issuer": certificate.issuer,
        "since": f"{certificate.since:%Y-%m-%d}" if certificate.since else "?",
        "until": f"{certificate.until:%Y-%m-%d}" if certificate.until else "?",
    }
