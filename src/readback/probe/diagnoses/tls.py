"""Diagnoses of the TLS handshake."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import fail, ok, skip

TLS = (
    skip("tls.none", "The address uses plain HTTP, so there is no certificate."),
    ok("tls.ok", "{version}; certificate for {subject}, by {issuer}, until {until}."),
    ok(
        "tls.ok_private",
        "{version}; certificate for {subject}, until {until}. A private authority "
        "issued it: {issuer}.",
    ),
    fail(
        "tls.client_certificate",
        FailureFamily.TLS,
        Culprit.INPUT,
        "The server requires a client certificate.",
        "A key is not enough there. Ask the operator for a certificate and configure "
        "it in your client, or for an address that does not require one.",
    ),
    fail(
        "tls.unknown_name",
        FailureFamily.TLS,
        Culprit.INPUT,
        "The server does not know the name {host}: it refuses the handshake for it "
        "({reason}).",
        "Check the host name. If it is right, tell the operator to configure it in the "
        "server or gateway.",
    ),
    fail(
        "tls.needs_name",
        FailureFamily.TLS,
        Culprit.INPUT,
        "The server refuses the handshake for an IP address, which tells it no host "
        "name ({reason}).",
        "Use the host name in the address.",
    ),
    fail(
        "tls.filtered_name",
        FailureFamily.TLS,
        Culprit.NETWORK,
        "Something stops handshakes that name {host}; without the name they succeed. "
        "This is a filter by host name, in your network or at the provider.",
        "Ask the administrator of your network to allow {host}, or try another "
        "network.",
    ),
    fail(
        "tls.http2_only",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The server speaks only HTTP/2, and refuses HTTP/1.1 in the handshake.",
        "Many clients, such as requests and the openai package, speak only HTTP/1.1 "
        "by default. Tell the operator to allow it.",
    ),
    fail(
        "tls.old_version",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The server speaks only old versions of TLS, which this machine refuses "
        "({reason}).",
        "Tell the operator to turn on TLS 1.2 or newer.",
    ),
    fail(
        "tls.weak_server",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The server uses a key or signature that is too weak for this machine's "
        "OpenSSL: {reason}.",
        "Tell the operator to use stronger parameters.",
    ),
    fail(
        "tls.legacy_renegotiation",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The server, or a proxy before it, does not support secure renegotiation, "
        "which OpenSSL 3 requires.",
        "Tell the operator to update it.",
    ),
    fail(
        "tls.broken",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The server began a TLS handshake, but sent something invalid: {reason}.",
        "Something changes the data on the way, or the server is faulty. Try another "
        "network, then tell the operator.",
    ),
    fail(
        "tls.plain_http",
        FailureFamily.TLS,
        Culprit.INPUT,
        "Port {port} serves plain HTTP, but the address starts with https://.",
        "Use http://, or the port that serves https.",
    ),
    fail(
        "tls.not_tls",
        FailureFamily.TLS,
        Culprit.INPUT,
        "Port {port} does not support TLS.",
        "Compare the port with the address that you were given.",
    ),
    fail(
        "tls.cut",
        FailureFamily.TLS,
        Culprit.NETWORK,
        "The connection was closed during the TLS handshake.",
        "A firewall may block this host name, or the server has no certificate for it.",
    ),
    fail(
        "tls.silent",
        FailureFamily.TLS,
        Culprit.NETWORK,
        "The connection opened, but the TLS handshake got no response within "
        "{timeout} s.",
        "A firewall or VPN may be dropping packets. Try another network.",
    ),
    fail(
        "tls.refused",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "Client and server could not agree on TLS parameters: {reason}.",
        "One side is too old or too strict. Update Python and OpenSSL, or tell the "
        "operator.",
    ),
)
