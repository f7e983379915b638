"""The step "TLS": whether each certificate store trusts the server, and what else.

The certificate is verified with the stores that Python programs use. If only one of
them trusts it, some programs work and others do not. Python 3.13 made two changes to
`ssl.create_default_context`: it refuses certificates that lack what RFC 5280 requires
(VERIFY_X509_STRICT), and it accepts a store that ends with an intermediate certificate
(VERIFY_X509_PARTIAL_CHAIN).
"""

from __future__ import annotations

import ipaddress
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from readback.probe import diagnoses
from readback.probe.common.formatting import format_duration, sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.connection import certificates, failed_handshake, stores
from readback.probe.connection.certificates import Certificate
from readback.probe.connection.stores import (
    CertificateStore,
    CertificateStores,
    StoreKind,
)
from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import is_ip_address, is_local
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.handshake import Handshake, shake, unverified

_EXPIRES_SOON_DAYS = 14
IS_STRICT_HERE = sys.version_info >= (3, 13)
_STRICT = int(ssl.VERIFY_X509_STRICT)
_PARTIAL = 0x80000  # Without a name in Python 3.9.


def check(context: ProbeContext) -> list[Diagnosis]:
    if not context.base_url.is_encrypted:
        return [diagnose("tls.none")]
    return check_with(context, stores.find())


def check_with(context: ProbeContext, found: CertificateStores) -> list[Diagnosis]:
    """Verify the server with each store; keep the first one that trusts it."""
    opinion = ask(context, found.usable[0])
    handshake = opinion.handshake
    if handshake.error is not None and handshake.verification_error is None:
        raise failed_handshake.explain_broken(context, handshake)
    opinions = [opinion]
    opinions += [ask(context, store) for store in found.usable[1:]]
    trusting = [one for one in opinions if one.trusts]
    if not trusting:
        raise found.trouble or failed_handshake.explain_untrusted(
            context, opinions[0].handshake
        )
    context.trusted = trusting[0].store.trust
    return _Findings(context, found, opinions, trusting[0]).diagnoses()


def speaks_tls(context: ProbeContext) -> bool:
    try:
        host = context.base_url.host
        return shake(context.route, unverified(), context.timeout, host).is_answered
    except ProbeError:
        return False


class _Findings:
    """What there is to say about a server that at least one store trusts."""

    def __init__(
        self,
        context: ProbeContext,
        found: CertificateStores,
        opinions: list[Opinion],
        best: Opinion,
    ) -> None:
        self._context = context
        self._found = found
        self._opinions = {one.store.kind: one for one in opinions}
        self._best = best
        self._chain = failed_handshake.read_chain(context, best.handshake)

    def diagnoses(self) -> list[Diagnosis]:
        ids = [*self._ids()]
        fine = "tls.ok_private" if self._is_private else "tls.ok"
        found = [self._diagnose(id) for id in ids or [fine]]
        trouble = self._found.trouble
        return [diagnoses.from_error(trouble), *found] if trouble else found

    def _ids(self) -> Iterator[str]:
        """Yield the ids of everything that is not as it should be, the worst first."""
        if not self._best.since_3_13:
            yield "tls.strict" if IS_STRICT_HERE else "tls.strict_newer"
        if not self._best.before_3_13:
            yield "tls.partial_older" if IS_STRICT_HERE else "tls.partial"
        if any(one.is_interception for one in self._chain):
            yield "tls.intercepted_trusted"
        elif self._is_private and self._is_public_host:
            yield "tls.private_authority"
        if self._refused_by(StoreKind.VARIABLE):
            yield "tls.store_refuses"
        if self._refused_by(StoreKind.MACHINE):
            is_there = self._found.has_machine_store
            yield "tls.only_certifi" if is_there else "tls.no_machine_store"
        elif self._best.store.kind is StoreKind.MACHINE:
            yield "tls.only_system"
        own = self._own
        if not own.hosts and own is not certificates.UNREADABLE:
            yield "tls.only_common_name"
        if certificates.is_out_of_order(self._chain):
            yield "tls.chain_order"
        if own.days_left is not None and own.days_left < _EXPIRES_SOON_DAYS:
            yield "tls.expires_soon"

    @property
    def _own(self) -> Certificate:
        return self._chain[0]

    @property
    def _is_private(self) -> bool:
        """Whether the authority is not in the public list, even if that is old."""
        return self._refused_by(StoreKind.CERTIFI) and not self._own.is_public

    @property
    def _is_public_host(self) -> bool:
        """Whether the service seems to be on the Internet, not on a private network."""
        host, route = self._context.base_url.host, self._context.route
        if is_local(host):
            return False
        if is_ip_address(host) or route.proxy:
            return True
        return any(ipaddress.ip_address(one).is_global for one in route.addresses)

    def _refused_by(self, kind: StoreKind) -> bool:
        opinion = self._opinions.get(kind)
        return bool(opinion and opinion.handshake.verification_error)

    def _diagnose(self, id: str) -> Diagnosis:
        handshake = self._best.handshake
        facts: dict[str, Fact] = {
            **failed_handshake.describe(self._own),
            "host": self._context.base_url.host,
            "version": handshake.version,
            "milliseconds": round(handshake.seconds * 1000, 3),
            "days": self._own.days_left,
        }
        if error := self._best.strict_error:
            facts["reason"] = sanitize(error.verify_message)
        return diagnose(id, figure=format_duration(handshake.seconds), **facts)


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
    """Verify the certificate with a store, as every Python version does.

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
