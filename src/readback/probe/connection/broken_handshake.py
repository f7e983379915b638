"""Explains why a TLS handshake ended before the certificate could be verified."""

from __future__ import annotations

import re
import ssl

from readback.probe.common.formatting import format_seconds, sanitize
from readback.probe.common.results import Fact, ProbeError
from readback.probe.entered.base_url import is_ip_address
from readback.probe.transport import opening
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.handshake import Handshake, shake, unverified

# By the words of OpenSSL for its own errors and for the alerts of the server.
_REASONS = (
    (re.compile("no application protocol"), "tls.http2_only"),
    (
        re.compile("alert protocol version|unsupported protocol|version too low"),
        "tls.old_version",
    ),
    (re.compile("key too small|md too weak|wrong signature type"), "tls.weak_server"),
    (re.compile("legacy renegotiation disabled"), "tls.legacy_renegotiation"),
)


def explain(context: ProbeContext, handshake: Handshake) -> ProbeError:
    """Return the error for a handshake that was not ended by the verification."""
    if handshake.asks_for_certificate and not handshake.is_late:
        return ProbeError("tls.client_certificate")
    base_url = context.base_url
    facts: dict[str, Fact] = {"host": base_url.host, "port": base_url.port}
    reason = sanitize(handshake.reason)
    for pattern, id in _REASONS:
        if pattern.search(reason):
            return ProbeError(id, reason=reason, **facts)
    if handshake.is_refused:
        return ProbeError(_refusal_id(context, reason), reason=reason, **facts)
    if handshake.is_late or _is_closed(handshake):
        return _no_response(context, handshake)
    if handshake.is_answered:
        return ProbeError("tls.broken", reason=reason)
    id = "tls.plain_http" if _is_plain_http(context) else "tls.not_tls"
    return ProbeError(id, **facts)


def _refusal_id(context: ProbeContext, reason: str) -> str:
    """Return the id for an alert that may be about the host name."""
    if is_ip_address(context.base_url.host):
        return "tls.needs_name"  # No name was sent.
    is_about_name = "unrecognized name" in reason or _depends_on_name(context)
    return "tls.unknown_name" if is_about_name else "tls.refused"


def _no_response(context: ProbeContext, handshake: Handshake) -> ProbeError:
    """Return the error for a handshake that got no response, or was cut off."""
    if not handshake.is_answered and _depends_on_name(context):
        return ProbeError("tls.filtered_name", host=context.base_url.host)
    if handshake.is_late:
        return ProbeError("tls.silent", timeout=format_seconds(context.timeout))
    if not handshake.is_answered and _is_plain_http(context):
        return ProbeError("tls.plain_http", port=context.base_url.port)
    return ProbeError("tls.cut")


def _is_closed(handshake: Handshake) -> bool:
    ends = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    is_tls_error = isinstance(handshake.error, ssl.SSLError)
    return isinstance(handshake.error, ends) or not is_tls_error


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
