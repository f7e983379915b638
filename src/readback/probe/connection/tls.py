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
from dataclasses import dataclass, replace
from functools import partial

from readback.probe import diagnoses
from readback.probe.common.formatting import format_duration, sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.connection import certificates, failed_handshake, stores
from readback.probe.connection.stores import CertificateStore, StoreKind
from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import is_ip_address, is_local
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import NotedRequest
from readback.probe.transport.handshake import Handshake, shake, unverified
from readback.probe.transport.opening import NO_TUNNEL

_EXPIRES_SOON_DAYS = 14
IS_STRICT_HERE = sys.version_info >= (3, 13)
_STRICT = int(ssl.VERIFY_X509_STRICT)
_PARTIAL = 0x80000  # Without a name in Python 3.9.


def check(context: ProbeContext) -> list[Diagnosis]:
    """Verify the server with each store; keep the first one that trusts it."""
    if not context.base_url.is_encrypted:
        return [diagnose("tls.none")]
    found = stores.find()
    opinions = [ask(context, found.usable[0])]
    handshake = opinions[0].handshake
    if handshake.error is not None and handshake.verification_error is None:
        raise failed_handshake.explain_broken(context, handshake)
    opinions += [ask(context, store) for store in found.usable[1:]]
    trusting = [one.store.trust for one in opinions if one.trusts]
    if not trusting:
        raise found.trouble or failed_handshake.explain_untrusted(context, handshake)
    context.trusted = trusting[0]
    return _findings(context, found, opinions)


def speaks_tls(context: ProbeContext) -> bool:
    try:
        host = context.base_url.host
        return shake(context.route, unverified(), context.timeout, host).is_answered
    except ProbeError:
        return False


def _findings(
    context: ProbeContext, found: stores.CertificateStores, opinions: list[Opinion]
) -> list[Diagnosis]:
    """Return what there is to say about a server that at least one store trusts."""
    best = next(one for one in opinions if one.trusts)
    chain = certificates.read_chain(best.handshake.chain)
    own = chain[0]
    refusing = {one.store.kind for one in opinions if one.handshake.verification_error}
    # The authority is not in the public list, even if that is old.
    is_private = StoreKind.CERTIFI in refusing and not own.is_public
    is_intercepted = any(one.is_interception for one in chain)
    by_machine, has_store = StoreKind.MACHINE in refusing, found.has_machine_store
    # The worst first.
    faults = {
        "tls.strict" if IS_STRICT_HERE else "tls.strict_newer": not best.since_3_13,
        "tls.partial_older" if IS_STRICT_HERE else "tls.partial": not best.before_3_13,
        "tls.intercepted_trusted": is_intercepted,
        "tls.private_authority": is_private
        and not is_intercepted
        and _is_public_host(context),
        "tls.store_refuses": StoreKind.VARIABLE in refusing,
        "tls.only_certifi": by_machine and has_store,
        "tls.no_machine_store": by_machine and not has_store,
        "tls.only_system": best.store.kind is StoreKind.MACHINE,
        "tls.only_common_name": not own.hosts and own is not certificates.UNREADABLE,
        "tls.chain_order": certificates.is_out_of_order(chain),
        "tls.expires_soon": own.days_left is not None
        and own.days_left < _EXPIRES_SOON_DAYS,
    }
    ids = [id for id, is_found in faults.items() if is_found]
    facts: dict[str, Fact] = {
        **own.facts,
        "host": context.base_url.host,
        "version": best.handshake.version,
        "milliseconds": round(best.handshake.seconds * 1000, 3),
        "days": own.days_left,
        "left": f"{own.days_left} day{'s' if own.days_left != 1 else ''}"
        if own.days_left
        else "less than a day",
    }
    if error := best.strict_error:
        facts["reason"] = sanitize(error.verify_message)
    figure = format_duration(best.handshake.seconds)
    fine = "tls.ok_private" if is_private else "tls.ok"
    said = [diagnose(id, figure=figure, **facts) for id in ids or [fine]]
    return [diagnoses.from_error(found.trouble), *said] if found.trouble else said


def _is_public_host(context: ProbeContext) -> bool:
    """Return whether the service seems to be on the Internet."""
    host, route = context.base_url.host, context.route
    if is_local(host):
        return False
    if is_ip_address(host) or route.proxy:
        return True
    return any(ipaddress.ip_address(one).is_global for one in route.addresses)


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
    base_url, log = context.base_url, context.budget.exchanges
    noted = NotedRequest(base_url.origin, "TLS", f"{store.kind} {flags}")
    shake_hands = partial(
        shake, context.route, store.trust, context.timeout, base_url.host
    )
    try:
        seen = shake_hands()
    except ProbeError as error:
        if error.id not in NO_TUNNEL:
            raise
        log.append(replace(noted, error=error.id))
        if all(one.error for one in log):
            raise
        seen = shake_hands()  # Others got through.
    noted.peer, noted.certificate = seen.peer, b"".join(seen.chain[:1])
    noted.error = "tls.failed" if seen.error else ""
    noted.is_untrusted = seen.verification_error is not None
    log.append(noted)
    return seen


def _set_flags(store: CertificateStore, flags: int) -> None:
    others = store.trust.verify_flags & ~(_STRICT | _PARTIAL)
    store.trust.verify_flags = ssl.VerifyFlags(others | flags)
