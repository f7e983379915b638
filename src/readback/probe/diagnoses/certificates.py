"""Diagnoses of the certificates that a server presents."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import fail, warn

CERTIFICATES = (
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
        "tls.private_authority",
        Culprit.PROXY,
        "A private authority issued the certificate of a host on the Internet: "
        "{issuer}. It is either the operator's own or something that decrypts the "
        "traffic.",
        "Ask the operator whether {issuer} is theirs. If it is not, your network "
        "reads the traffic, including the key; ask its administrator.",
    ),
    warn(
        "tls.strict_newer",
        Culprit.SERVICE,
        "Programs on Python 3.13 and newer refuse the certificate: {reason}. This "
        "Python, curl 7.88 and Node 20 accept it.",
        "Tell whoever runs the authority {issuer}: its certificates, or its own one, "
        "lack what RFC 5280 requires.",
    ),
    fail(
        "tls.strict",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "Python 3.13 and newer, such as the one that runs here, refuse the "
        "certificate: {reason}. Older Pythons, curl 7.88 and Node 20 accept it.",
        "Tell whoever runs the authority {issuer}: its certificates, or its own one, "
        "lack what RFC 5280 requires. Until then, use Python 3.12, or remove "
        "ssl.VERIFY_X509_STRICT from the verify_flags of the program's SSL context.",
    ),
    warn(
        "tls.only_common_name",
        Culprit.SERVICE,
        "The certificate has the host name only in its common name. This program, "
        "httpx 0.28 and curl 7.88 accept that; requests 2.34 refuses it.",
        "Tell the operator to add the name as a subject alternative name.",
    ),
    warn(
        "tls.chain_order",
        Culprit.SERVICE,
        "The server sends its certificates in the wrong order. Most programs sort "
        "them; strict or old ones refuse them.",
        "Tell the operator: each certificate must follow the one that it has issued.",
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
        "tls.chain_dates",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate of the authority {name} is not valid now ({period}); the one "
        "of the server itself is.",
        "Tell the operator to send a current intermediate certificate. If the server "
        "does not send it, update the certificates of this machine.",
    ),
    fail(
        "tls.clock",
        FailureFamily.TLS,
        Culprit.MACHINE,
        "The clock of this machine is wrong, so that the certificate seems invalid: it "
        "is {here} UTC here, but {there} UTC for the server.",
        "Set the clock, or turn on automatic time.",
    ),
    fail(
        "tls.wrong_name",
        FailureFamily.TLS,
        Culprit.INPUT,
        "The certificate is for {subject}, not for {host}.",
        "Use a host name that the certificate covers. If yours is right, "
        "tell the operator that the server does not know it.",
    ),
    fail(
        "tls.wildcard",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate is for {subject}, which does not cover {host}: the * covers "
        "only one part of a name.",
        "Tell the operator to add the name to the certificate, or use a host name that "
        "it covers.",
    ),
    fail(
        "tls.ip_address",
        FailureFamily.TLS,
        Culprit.INPUT,
        "The certificate is for {subject}, not for the IP address {host}.",
        "Use the host name in the address.",
    ),
    fail(
        "tls.default_certificate",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "A gateway presents its built-in certificate, {subject}: it has none for "
        "{host}.",
        "Check the host name. If it is right, tell the operator that the gateway has "
        "no certificate for it.",
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
        "tls.missing_intermediate",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The server does not send the intermediate certificate of {issuer}, which "
        "issued its own. Browsers often have it; programs do not.",
        "Tell the operator to configure the full chain of certificates. If {issuer} is "
        "a private authority, also set SSL_CERT_FILE to its root certificate.",
    ),
    fail(
        "tls.unknown_issuer",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate was issued by {issuer}, which this machine does not trust.",
        "If {issuer} is the operator's own authority, set SSL_CERT_FILE to its root "
        "certificate. If the operator does not know it, something between you and the "
        "service decrypts the traffic.",
    ),
    fail(
        "tls.name_constraints",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The authority {issuer} is not allowed to issue certificates for {host}: "
        "{reason}.",
        "Tell the operator to get the certificate from another authority.",
    ),
    fail(
        "tls.wrong_purpose",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate is not meant for servers.",
        "Tell the operator: its extended key usage must include server authentication.",
    ),
    fail(
        "tls.weak_certificate",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate is too weak for this machine's OpenSSL: {reason}.",
        "Tell the operator to use a key of 2048 bits or more and a SHA-256 signature.",
    ),
    fail(
        "tls.untrusted",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate cannot be trusted: {reason}.",
        "Tell the operator.",
    ),
)
