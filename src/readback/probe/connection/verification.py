"""Whether a store trusts the server, as Python verifies it before and since 3.13.

Python 3.13 made two changes to `ssl.create_default_context`: it refuses certificates
that lack what RFC 5280 requires (VERIFY_X509_STRICT), and it accepts a store that ends
with an intermediate certificate (VERIFY_X509_PARTIAL_CHAIN).
"""

from __future__ import annotations

import ssl
import sys
from dataclasses import dataclass

from readback.probe.connection.stores import CertificateStore
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.handshake import Handshake, shake

IS_STRICT_HERE = sys.version_info >= (3, 13)
_STRICT = int(ssl.VERIFY_X509_STRICT)
_PARTIAL = 0x80000  # Without a name in Python 3.9.


@dataclass(frozen=True)
class Opinion:
    """What a store says of the server's certificate."""

    store: CertificateStore
    handshake: Handshake
    """The one that succeeded, or the one whose error explains most."""
    before_3_13: bool = True
    since_3_13: bool = True
    strict_error: ssl.SSLCertVerificationError | None = None

    @property
    def trusts(self) -> bool:
        return self.handshake.error is None


def ask(context: ProbeContext, store: CertificateStore) -> Opinion:
    """Verify the certificate with a store, in the ways of all Python versions.

    What passes the strict rules without the concession passes everywhere, so that a
    certificate without faults takes one handshake.
    """
    strictest = _shake(context, store, _STRICT)
    error = strictest.verification_error
    if error is None:
        return Opinion(store, strictest)
    since = _shake(context, store, _STRICT | _PARTIAL)
    before = _shake(context, store, 0)
    is_newer_kept = before.error is not None and since.error is None
    if is_newer_kept:
        _set_flags(store, _STRICT | _PARTIAL)  # For later connections.
    return Opinion(
        store,
        since if is_newer_kept else before,
        before_3_13=before.error is None,
        since_3_13=since.error is None,
        strict_error=since.verification_error,
    )


def _shake(context: ProbeContext, store: CertificateStore, flags: int) -> Handshake:
    _set_flags(store, flags)
    host = context.base_url.host
    return shake(context.route, store.trust, context.timeout, host)


def _set_flags(store: CertificateStore, flags: int) -> None:
    others = store.trust.verify_flags & ~(_STRICT | _PARTIAL)
    store.trust.verify_flags = ssl.VerifyFlags(others | flags)
