"""The settings of TLS that all connections of the probe share."""

from __future__ import annotations

import ssl

# As most clients do; a server that speaks only HTTP/2 then says so.
_PROTOCOLS = ["http/1.1"]


def new_context() -> ssl.SSLContext:
    """Return a context that verifies the server, but still trusts no authority."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The default since Python 3.10.
    trust.minimum_version = ssl.TLSVersion.TLSv1_2
    trust.set_alpn_protocols(_PROTOCOLS)
    return trust


def unverified() -> ssl.SSLContext:
    """Return a context that accepts any certificate, only to describe it."""
    trust = new_context()
    trust.check_hostname = False
    trust.verify_mode = ssl.CERT_NONE
    return trust
