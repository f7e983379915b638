"""Diagnoses of TLS and certificates."""

from __future__ import annotations

from readback.probe.diagnoses.templates import fail, ok, skip, warn
from readback.probe.results import Culprit, FailureFamily

TLS = (
    skip("tls.none", "The address uses plain HTTP, so there is no certificate."),
    ok("tls.ok", "{version}; certificate for {subject}, by {issuer}, until {until}."),
    warn(
        "tls.expires_soon",
        Culprit.SERVICE,
        "The certificate expires in {days} days.",
        "Tell the operator to renew it.",
    ),
    warn(
        "tls.intercepted_trusted",
        Culprit.PROXY,
        "{issuer} decrypts the traffic: it presents its own certificate, which this "
        "machine trusts.",
        "Programs with their own certificate store refuse it. Add {issuer}'s root "
        "certificate to them as well.",
    ),
    warn(
        "tls.only_system",
        Culprit.MACHINE,
        "This machine trusts the certificate issued by {issuer}, but Python programs "
        "with their own certificate store, such as openai and requests, refuse it.",
        "Set SSL_CERT_FILE and REQUESTS_CA_BUNDLE to this machine's certificate file.",
    ),
    fail(
        "tls.expired",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate expired on {until}.",
        "Check the clock of this machine. If it is right, tell the operator to renew "
        "the certificate.",
    ),
    fail(
        "tls.not_yet_valid",
        FailureFamily.TLS,
        Culprit.MACHINE,
        "The certificate is not valid until {since}.",
        "Check the clock of this machine.",
    ),
    fail(
        "tls.wrong_name",
        FailureFamily.TLS,
        Culprit.INPUT,
        "The certificate is for {subject}, not for {host}.",
        "Use a host name that the certificate covers. If the cabinet shows your name, "
        "tell the operator.",
    ),
    fail(
        "tls.self_signed",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate is self-signed, so it does not prove who the server is.",
        "Tell the operator. If this is your own test server, set SSL_CERT_FILE to its "
        "certificate.",
    ),
    fail(
        "tls.intercepted",
        FailureFamily.TLS,
        Culprit.PROXY,
        "{issuer} intercepts the connection and presents its own certificate.",
        "Get the root certificate of your company's proxy and set SSL_CERT_FILE to it, "
        "or ask to exclude the address from TLS inspection.",
    ),
    fail(
        "tls.unknown_issuer",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate was issued by {issuer}, which this machine does not trust.",
        "For a private certificate authority, set SSL_CERT_FILE to its certificate. "
        "For a public one, tell the operator that the intermediate certificate is "
        "missing.",
    ),
    fail(
        "tls.untrusted",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate cannot be trusted: {reason}.",
        "Tell the operator.",
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
        "Compare the port with the address in the cabinet.",
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
