"""Explains a failed TLS handshake: it was cut off, or a certificate is not trusted."""

from __future__ import annotations

import re
import ssl
from contextlib import suppress
from datetime import datetime, timedelta, timezone

from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Fact, ProbeError
from readback.probe.connection import certificates, stores
from readback.probe.connection.certificates import Certificate
from readback.probe.entered.base_url import is_ip_address
from readback.probe.transport import opening
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.handshake import Handshake, shake, unverified

_CLOCK_TOLERANCE = timedelta(hours=1)
# The X509_V_ERR_… codes of OpenSSL, from x509_vfy.h.
_DATES = {9, 10}
_SELF_SIGNED = 18
_UNKNOWN = {2, _SELF_SIGNED, 19, 20, 21}
_OTHER_NAME = {62, 64}
_OTHERS = {
    26: "tls.wrong_purpose",
    47: "tls.name_constraints",
    48: "tls.name_constraints",
    66: "tls.weak_certificate",
    67: "tls.weak_certificate",
    68: "tls.weak_certificate",
}
# By the words of OpenSSL for its own errors and for the alerts of the server.
_REASONS = {
    "no application protocol": "tls.http2_only",
    "alert protocol version|unsupported protocol|version too low": "tls.old_version",
    "key too small|md too weak|wrong signature type": "tls.weak_server",
    "legacy renegotiation disabled": "tls.legacy_renegotiation",
}


def explain_untrusted(context: ProbeContext, handshake: Handshake) -> ProbeError:
    """Return the error for a handshake that the verification has ended."""
    error = handshake.verification_error
    assert error is not None
    chain = certificates.read_chain(handshake.chain)
    host = context.base_url.host
    facts: dict[str, Fact] = {**chain[0].facts, "host": host}
    facts["reason"] = sanitize(error.verify_message)
    if error.verify_code in _DATES:
        return _explain_dates(context, chain, facts)
    if error.verify_code in _UNKNOWN:
        is_empty = not stores.has_certificates()
        unknown = "tls.no_store" if is_empty else _unknown_id(chain, error.verify_code)
        return ProbeError(unknown, **facts)
    if error.verify_code in _OTHER_NAME:
        # RFC 9525 §6.3: the wildcard matches exactly one part of a name.
        wildcards = (one.lower() for one in chain[0].hosts if one.startswith("*."))
        is_deeper = any(
            host.endswith(name[1:]) and host.count(".") > name.count(".")
            for name in wildcards
        )
        id = "tls.wildcard" if is_deeper else "tls.wrong_name"
        return ProbeError("tls.ip_address" if is_ip_address(host) else id, **facts)
    return ProbeError(_OTHERS.get(error.verify_code, "tls.untrusted"), **facts)


def _unknown_id(chain: list[Certificate], code: int) -> str:
    own = chain[0]
    if own.is_built_in:
        return "tls.default_certificate"
    if any(certificate.is_interception for certificate in chain):
        return "tls.intercepted"
    if code == _SELF_SIGNED:
        return "tls.self_signed"
    is_alone = all(other.raw_name != own.raw_issuer for other in chain)
    if is_alone and (own.is_public or own.has_issuer_address):
        return "tls.missing_intermediate"
    if is_alone and stores.is_named():
        return "tls.incomplete_chain"
    return "tls.unknown_issuer"


def _explain_dates(
    context: ProbeContext, chain: list[Certificate], facts: dict[str, Fact]
) -> ProbeError:
    """Find the certificate whose dates are wrong, or that the clock is."""
    now = datetime.now(timezone.utc)
    wrong = next((one for one in chain if not one.is_valid_at(now)), None)
    if wrong is None:  # Only the root is not sent, so it is the one in the store.
        root = chain[-1].issuer
        return ProbeError("tls.chain_dates", name=root, period="dates unknown", **facts)
    there = None
    with context.new_client(trusted=unverified()) as client, suppress(ProbeError):
        there = client.request("/").date  # It is not verified, and only a hint.
    if there and abs(there - now) > _CLOCK_TOLERANCE and wrong.is_valid_at(there):
        here, served = f"{now:%Y-%m-%d %H:%M}", f"{there:%Y-%m-%d %H:%M}"
        return ProbeError("tls.clock", here=here, there=served, **facts)
    if wrong is not chain[0]:
        period = f"{wrong.facts['since']} – {wrong.facts['until']}"
        return ProbeError("tls.chain_dates", name=wrong.name, period=period, **facts)
    is_early = wrong.since is not None and now < wrong.since
    if is_early and there and abs(there - now) <= _CLOCK_TOLERANCE:
        return ProbeError("tls.early_certificate", **facts)
    return ProbeError("tls.not_yet_valid" if is_early else "tls.expired", **facts)


def explain_broken(context: ProbeContext, handshake: Handshake) -> ProbeError:
    """Return the error for a handshake that was not ended by the verification."""
    if handshake.asks_for_certificate and not handshake.is_late:
        return ProbeError("tls.client_certificate")
    base_url = context.base_url
    facts: dict[str, Fact] = {"host": base_url.host, "port": base_url.port}
    reason = sanitize(handshake.reason)
    for pattern, id in _REASONS.items():
        if re.search(pattern, reason):
            return ProbeError(id, reason=reason, **facts)
    if handshake.is_refused:
        is_about_name = "unrecognized name" in reason or _depends_on_name(context)
        id = "tls.unknown_name" if is_about_name else "tls.refused"
        if is_ip_address(base_url.host):
            id = "tls.needs_name"  # No name was sent.
        return ProbeError(id, reason=reason, **facts)
    ends = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    is_tls_error = isinstance(handshake.error, ssl.SSLError)
    if handshake.is_late or not is_tls_error or isinstance(handshake.error, ends):
        if not handshake.is_answered and _depends_on_name(context):
            return ProbeError("tls.filtered_name", host=base_url.host)
        if handshake.is_late:
            return ProbeError("tls.silent", timeout=f"{context.timeout:g}")
        if not handshake.is_answered and _is_plain_http(context):
            return ProbeError("tls.plain_http", port=base_url.port)
        return ProbeError("tls.cut")
    if handshake.is_answered:
        return ProbeError("tls.broken", reason=reason)
    id = "tls.plain_http" if _is_plain_http(context) else "tls.not_tls"
    return ProbeError(id, **facts)


def _depends_on_name(context: ProbeContext) -> bool:
    """Return whether the handshake works without the host name, but not with it."""
    host = context.base_url.host
    if is_ip_address(host):
        return False  # No name was sent.
    return _works(context, None) and not _works(context, host)


def _works(context: ProbeContext, name: str | None) -> bool:
    try:
        handshake = shake(context.route, unverified(), context.timeout, name)
        return handshake.error is None
    except ProbeError:
        return False


def _is_plain_http(context: ProbeContext) -> bool:
    if context.route.proxy:
        return False
    context.budget.spend()
    return opening.first_bytes(context.route, context.timeout).startswith(b"HTTP/")
