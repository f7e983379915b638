"""The step "TLS": whether each certificate store trusts the server, and what else.

The certificate is verified with the stores that Python programs use. If only one of
them trusts it, some programs work and others do not.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from readback.probe import diagnoses
from readback.probe.common.formatting import format_duration, sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.connection import broken_handshake, certificates, stores, untrusted
from readback.probe.connection.certificates import Certificate
from readback.probe.connection.stores import CertificateStores, StoreKind
from readback.probe.connection.verification import IS_STRICT_HERE, Opinion, ask
from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import is_ip_address, is_local
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.handshake import shake, unverified

_EXPIRES_SOON_DAYS = 14


def check(context: ProbeContext) -> list[Diagnosis]:
    if not context.base_url.is_encrypted:
        return [diagnose("tls.none")]
    return check_with(context, stores.find())


def check_with(context: ProbeContext, found: CertificateStores) -> list[Diagnosis]:
    """Verify the server with each store; keep the first one that trusts it."""
    opinions = [_first_opinion(context, found)]
    opinions += [ask(context, store) for store in found.usable[1:]]
    trusting = [one for one in opinions if one.trusts]
    if not trusting:
        raise found.trouble or untrusted.explain(context, opinions[0].handshake)
    context.trusted = trusting[0].store.trust
    return _Findings(context, found, opinions, trusting[0]).diagnoses()


def speaks_tls(context: ProbeContext) -> bool:
    try:
        host = context.base_url.host
        return shake(context.route, unverified(), context.timeout, host).is_answered
    except ProbeError:
        return False


def _first_opinion(context: ProbeContext, found: CertificateStores) -> Opinion:
    opinion = ask(context, found.usable[0])
    handshake = opinion.handshake
    if handshake.error is not None and handshake.verification_error is None:
        raise broken_handshake.explain(context, handshake)
    return opinion


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
        self._chain = untrusted.read_chain(context, best.handshake)

    def diagnoses(self) -> list[Diagnosis]:
        ids = [*self._ids()]
        found = [self._diagnose(id) for id in ids or [self._ok_id()]]
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
        yield from self._store_ids()
        own = self._own
        if not own.hosts and own is not certificates.UNREADABLE:
            yield "tls.only_common_name"
        if certificates.is_out_of_order(self._chain):
            yield "tls.chain_order"
        if own.days_left is not None and own.days_left < _EXPIRES_SOON_DAYS:
            yield "tls.expires_soon"

    def _store_ids(self) -> Iterator[str]:
        if self._refused_by(StoreKind.VARIABLE):
            yield "tls.store_refuses"
        if self._refused_by(StoreKind.MACHINE):
            is_there = self._found.has_machine_store
            yield "tls.only_certifi" if is_there else "tls.no_machine_store"
        elif self._best.store.kind is StoreKind.MACHINE:
            yield "tls.only_system"

    def _ok_id(self) -> str:
        return "tls.ok_private" if self._is_private else "tls.ok"

    @property
    def _own(self) -> Certificate:
        return self._chain[0]

    @property
    def _is_private(self) -> bool:
        """Whether the authority is not in the public list, even if that is old."""
        return self._refused_by(StoreKind.CERTIFI) and not self._own.is_public

    @property
    def _is_public_host(self) -> bool:
        """Whether the service seems to be on the Internet, not on one's own network."""
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
            **untrusted.describe(self._own),
            "host": self._context.base_url.host,
            "version": handshake.version,
            "milliseconds": round(handshake.seconds * 1000, 3),
            "days": self._own.days_left,
        }
        if error := self._best.strict_error:
            facts["reason"] = sanitize(error.verify_message)
        return diagnose(id, figure=format_duration(handshake.seconds), **facts)
