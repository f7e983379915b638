"""The step "TLS": whether each certificate store trusts the server, and if not, why.

The certificate is verified with the stores that Python programs use. If only one of
them trusts it, some programs work and others do not. Since Python 3.13, programs also
refuse certificates that lack what RFC 5280 requires (VERIFY_X509_STRICT).
"""

from __future__ import annotations

import re
import ssl
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from readback.probe.common.catalogue import diagnose, from_error, say
from readback.probe.common.formatting import decimal, format_duration, sanitize
from readback.probe.common.responsible import Authority
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.connection import certificates, dns, stores
from readback.probe.connection.certificates import Certificate
from readback.probe.connection.stores import StoreKind
from readback.probe.entered.base_url import is_ip_address, is_local
from readback.probe.transport import opening
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import NotedRequest
from readback.probe.transport.handshake import Handshake, shake, unverified

IS_STRICT_HERE = sys.version_info >= (3, 13)
_STRICT = int(ssl.VERIFY_X509_STRICT)
_CLOCK_TOLERANCE = timedelta(hours=1)
# A plain-HTTP server may take a handshake for the start of a request and wait for more.
_TLS_PATIENCE_SECONDS = 2.0
# The X509_V_ERR_… codes of OpenSSL, from x509_vfy.h.
_DATES = {9, 10}
# The store contains the certificate's issuer, but not the authority above it.
_ISSUER_OF_STORED = 2
_SELF_SIGNED = 18
_UNKNOWN = {_ISSUER_OF_STORED, _SELF_SIGNED, 19, 20, 21}
_OTHER_NAME = {62, 64}
# OpenSSL's messages for servers that support only HTTP/2, or only old versions of TLS.
_NO_COMMON_VERSION = re.compile(
    "no application protocol|alert protocol version|unsupported protocol"
    "|version too low"
)


def check(context: ProbeContext) -> list[Diagnosis]:
    """Verify the server with each store; keep the first one that trusts it."""
    if not context.base_url.is_encrypted:
        is_public = _is_public_host(context) and context.route.proxy is None
        finding = "address.unencrypted" if is_public else "tls.none"
        return [diagnose(finding, base_url=str(context.base_url))]
    usable, trouble = stores.find(context.authorities, context.certificate)
    first, *others = usable
    handshake = ask(context, first, usable[first])
    if handshake.error is not None and handshake.verification_error is None:
        raise explain_broken(context, handshake)
    seen = {first: handshake}
    for store in others:
        seen[store] = ask(context, store, usable[store])
    trusting = [store for store, shaken in seen.items() if shaken.error is None]
    if not trusting:
        # A store that has the authority shows what else is wrong with the certificate.
        known = (shaken for shaken in seen.values() if not is_unknown(shaken))
        raise (
            trouble
            or _in_other_file(context, handshake)
            or explain_untrusted(context, next(known, handshake))
        )
    if trusting == [StoreKind.MACHINE] and (variable := stores.naming_variable()):
        issuer = certificates.read_chain(handshake.chain)[0].issuer
        reason = say("lacks_issuer", issuer=issuer)
        raise trouble or stores.unusable(variable, reason)
    context.trusted = usable[trusting[0]]
    findings = _findings(context, seen, trusting[0])
    refusing = seen.get(StoreKind.VARIABLE)
    if refusing and refusing.verification_error:
        issuer = certificates.read_chain(refusing.chain)[0].issuer
        reason = say("lacks_issuer", issuer=issuer)
        trouble = trouble or stores.unusable(stores.naming_variable() or "", reason)
    return [from_error(trouble), *findings] if trouble else findings


def speaks_tls(context: ProbeContext) -> bool:
    """Return whether a port that has just responded to plain HTTP expects TLS."""
    patience = min(context.timeout, _TLS_PATIENCE_SECONDS)
    return _unverified(context, context.base_url.host, patience).is_answered


def _unverified(context: ProbeContext, name: str | None, timeout: float) -> Handshake:
    try:
        return shake(context.route, unverified(), timeout, name)
    except ProbeError:
        return Handshake(error=ConnectionError())


def _findings(
    context: ProbeContext, seen: dict[StoreKind, Handshake], trusting: StoreKind
) -> list[Diagnosis]:
    best = seen[trusting]
    chain = certificates.read_chain(best.chain)
    own = chain[0]
    refusing = {store for store, shaken in seen.items() if shaken.verification_error}
    accepting = [store for store, shaken in seen.items() if shaken.error is None]
    is_in_list = StoreKind.CERTIFI in accepting or StoreKind.CERTIFI not in seen
    context.authority = authority = _authority(context, chain, is_in_list)
    by_machine = StoreKind.MACHINE in refusing and not stores.naming_variable()
    is_by_machine = trusting is StoreKind.MACHINE
    # A proxy that decrypts the traffic is another reason to set SSL_CERT_FILE.
    is_named = accepting == [StoreKind.VARIABLE] and context.route.proxy is None
    is_private = authority is Authority.PRIVATE
    is_own = authority is Authority.SERVICE or (is_private and is_named)
    # Do not warn about private hosts: other programs need not know their authority.
    is_own = is_own and _is_public_host(context)
    # The most serious problem first.
    faults = {
        "tls.strict": best.strict_error,
        "tls.private_authority": is_private and not is_own,
        "tls.only_certifi": by_machine,
        "tls.only_system": is_by_machine or (is_own and not context.authorities),
        "tls.intercepted_trusted": authority is Authority.INTERCEPTOR,
        "tls.expires_soon": own.expires_soon,
        "tls.no_names": not own.has_names,
    }
    ids = [finding for finding, is_found in faults.items() if is_found]
    facts: dict[str, Fact] = {
        **own.facts,
        "host": context.base_url.host,
        "version": best.version,
        "milliseconds": round(best.seconds * 1000, 3),
        "store": say("machine_store" if by_machine or is_by_machine else "named_store"),
    }
    if error := best.strict_error:
        facts["reason"] = sanitize(error.verify_message)
    figure = format_duration(best.seconds)
    return [diagnose(finding, figure=figure, **facts) for finding in ids or ["tls.ok"]]


def _authority(
    context: ProbeContext, chain: list[Certificate], is_in_list: bool
) -> Authority:
    """Return what kind of authority seems to have issued a trusted certificate."""
    own = chain[0]
    if any(certificate.is_interception for certificate in chain):
        return Authority.INTERCEPTOR
    # The list of public authorities on this machine may be outdated.
    if own.is_public or (is_in_list and not context.authorities):
        return Authority.PUBLIC
    if own.is_for_development:
        return Authority.SERVICE
    is_own = bool(context.authorities) or not _is_public_host(context)
    return Authority.OWN if is_own else Authority.PRIVATE


def _claimed_authority(chain: list[Certificate], code: int) -> Authority:
    """Return what kind of authority probably issued an untrusted certificate."""
    own = chain[0]
    if any(certificate.is_interception for certificate in chain):
        return Authority.INTERCEPTOR
    if own.is_public:
        return Authority.PUBLIC
    # An intercepting product signs with its own authority and issues certificates that
    # are currently valid. A self-signed or expired certificate therefore comes from the
    # service itself.
    is_own = own.is_for_development or own.is_built_in
    is_own = is_own or code == _SELF_SIGNED or code in _DATES
    return Authority.SERVICE if is_own else Authority.PRIVATE


def _is_public_host(context: ProbeContext) -> bool:
    """Return whether the service seems to be on the Internet."""
    route = context.route
    if is_local(context.base_url.host):
        return False
    return route.proxy is not None or not dns.range_of(route.addresses)


def ask(context: ProbeContext, store: StoreKind, trust: ssl.SSLContext) -> Handshake:
    """Verify the certificate with a store, first with this Python's default flags."""
    strict = _shake(context, store, trust, is_strict=IS_STRICT_HERE)
    if strict.verification_error is None:
        return strict
    # Also try again if strict checks are off: a different server may respond this time.
    lenient = _shake(context, store, trust, is_strict=False)
    if IS_STRICT_HERE:
        lenient.strict_error = strict.verification_error
    return lenient


def _shake(
    context: ProbeContext, store: StoreKind, trust: ssl.SSLContext, *, is_strict: bool
) -> Handshake:
    others = trust.verify_flags & ~_STRICT
    # Later connections use the flags that the last attempt has set.
    trust.verify_flags = ssl.VerifyFlags(others | (_STRICT if is_strict else 0))
    base_url = context.base_url
    log = context.budget.exchanges
    noted = NotedRequest(base_url.origin, "TLS", f"{store} {is_strict}")
    arguments = (context.route, trust, context.timeout, base_url.host)
    try:
        seen = shake(*arguments)
    except ProbeError as error:
        if context.route.proxy is None:
            raise
        log.append(replace(noted, error=error.id))
        if all(noted.error for noted in log):
            raise
        seen = shake(*arguments)  # Other connections succeeded, so try once more.
    noted.peer = seen.peer
    noted.certificate = b"".join(seen.chain[:1])
    noted.error = "tls.failed" if seen.error else ""
    noted.is_untrusted = seen.verification_error is not None
    log.append(noted)
    return seen


def _in_other_file(context: ProbeContext, handshake: Handshake) -> ProbeError | None:
    issuer = certificates.read_chain(handshake.chain)[0].issuer
    for variable, trust in stores.of_others():
        seen = shake(context.route, trust, context.timeout, context.base_url.host)
        if seen.error is None:
            return ProbeError("tls.other_file", variable=variable, issuer=issuer)
    return None


def explain_untrusted(context: ProbeContext, handshake: Handshake) -> ProbeError:
    error = handshake.verification_error
    assert error is not None
    chain = certificates.read_chain(handshake.chain)
    host = context.base_url.host
    facts: dict[str, Fact] = {**chain[0].facts, "host": host}
    facts["reason"] = sanitize(error.verify_message)
    context.authority = _claimed_authority(chain, error.verify_code)
    if error.verify_code in _DATES:
        return _explain_dates(context, chain, facts)
    if context.authority is Authority.INTERCEPTOR:
        return ProbeError("tls.intercepted", **facts)
    if chain[0].is_built_in:
        facts["reason"] = say("is_built_in", host=host)
        return ProbeError("tls.untrusted", **facts)
    if error.verify_code in _OTHER_NAME:
        why = say("a_star_is_one_part") if "*" in chain[0].subject else ""
        why = say("use_the_name") if is_ip_address(host) else why
        return ProbeError("tls.wrong_name", why=why, **facts)
    if error.verify_code in _UNKNOWN:
        finding = _unknown_id(chain, error.verify_code)
        named = stores.named(context.authorities)
        is_sent = any(other.raw_name == chain[0].raw_issuer for other in chain)
        facts["missing"] = say("set_root" if is_sent else "send_issuer")
        facts["named"] = ""
        if named and finding == "tls.unknown_issuer":
            facts["named"] = say("not_in_store", variable=named[0], path=named[1])
            return _lacking_in(named, chain, error.verify_code, facts)
        return ProbeError(finding, **facts)
    return ProbeError("tls.untrusted", **facts)


def _lacking_in(
    named: tuple[str, str], chain: list[Certificate], code: int, facts: dict[str, Fact]
) -> ProbeError:
    """Return an error that says what a readable store lacks, if that is certain."""
    variable, path = named
    issuer = chain[-1].issuer
    reason = ""
    if code == _ISSUER_OF_STORED:
        reason = say("lacks_root")
    elif variable != stores.OPTION:
        return ProbeError("tls.unknown_issuer", **facts)
    elif chain[-1].raw_name == chain[-1].raw_issuer:
        reason = say("lacks_authority", issuer=issuer)
    # Otherwise, the missing certificate may be one that the server should have sent.
    finding = "tls.store" if reason else "tls.incomplete"
    facts = {"variable": variable, "path": path, "reason": reason, "issuer": issuer}
    return ProbeError(finding, **facts)


def is_unknown(handshake: Handshake) -> bool:
    error = handshake.verification_error
    return error is None or error.verify_code in _UNKNOWN


def _unknown_id(chain: list[Certificate], code: int) -> str:
    own = chain[0]
    if own.is_for_development:
        return "tls.own_authority"
    if code == _SELF_SIGNED:
        return "tls.self_signed"
    is_alone = all(other.raw_name != own.raw_issuer for other in chain)
    if is_alone and own.names_issuer:
        return "tls.missing_intermediate"
    return "tls.unknown_issuer"


def _explain_dates(
    context: ProbeContext, chain: list[Certificate], facts: dict[str, Fact]
) -> ProbeError:
    """Return the error for a certificate with wrong dates, or for a wrong clock."""
    now = datetime.now(timezone.utc)
    invalid = (known for known in chain if not known.is_valid_at(now))
    wrong = next(invalid, None)
    if wrong is None:  # The root must have expired; servers do not send it.
        root = chain[-1].issuer
        problem = say("not_valid_now")
        return ProbeError("tls.expired", name=root, problem=problem, **facts)
    there = None
    with context.new_client(trusted=unverified()) as client, suppress(ProbeError):
        there = client.request("/").date  # only a hint, because nothing is verified
    if there and abs(there - now) > _CLOCK_TOLERANCE and wrong.is_valid_at(there):
        here = f"{now:%Y-%m-%d %H:%M}"
        served = f"{there:%Y-%m-%d %H:%M}"
        return ProbeError("tls.clock", here=here, there=served, **facts)
    is_early = wrong.since is not None and now < wrong.since
    problem = say("not_valid_until" if is_early else "expired_on", **wrong.facts)
    name = wrong.subject if wrong is chain[0] else wrong.name
    return ProbeError("tls.expired", name=name, problem=problem, **facts)


def explain_broken(context: ProbeContext, handshake: Handshake) -> ProbeError:
    if handshake.asks_for_certificate and not handshake.is_late:
        return ProbeError("tls.client_certificate")
    base_url = context.base_url
    reason = sanitize(handshake.reason)
    facts: dict[str, Fact] = {"host": base_url.host, "port": base_url.port}
    if handshake.is_refused or _NO_COMMON_VERSION.search(reason):
        return ProbeError("tls.refused", reason=reason, **facts)
    ends = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    is_tls_error = isinstance(handshake.error, ssl.SSLError)
    if handshake.is_late or not is_tls_error or isinstance(handshake.error, ends):
        if not handshake.is_answered and _is_plain_http(context):
            return ProbeError("tls.plain_http", **facts)
        if not handshake.is_answered and _depends_on_name(context):
            return ProbeError("tls.filtered_name", host=base_url.host)
        late = say("late_in_tls", seconds=decimal(f"{context.timeout:g}"))
        how = late if handshake.is_late else say("a_closed_connection")
        return ProbeError("tls.cut", how=how)
    finding = "tls.refused" if handshake.is_answered else "tls.plain_http"
    return ProbeError(finding, reason=reason, **facts)


def _depends_on_name(context: ProbeContext) -> bool:
    """Return whether the handshake works without the host name, but not with it."""
    host = context.base_url.host
    timeout = context.timeout
    if is_ip_address(host) or _unverified(context, None, timeout).error:
        return False  # No name was sent, or the handshake also fails without it.
    return _unverified(context, host, timeout).error is not None


def _is_plain_http(context: ProbeContext) -> bool:
    if context.route.proxy:
        return False
    context.budget.spend()
    return opening.first_bytes(context.route, context.timeout).startswith(b"HTTP/")
