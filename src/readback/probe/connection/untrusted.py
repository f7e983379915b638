"""Explains why the certificate of a server is not trusted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

from readback.probe.client import ProbeClient
from readback.probe.connection import certificates
from readback.probe.connection.certificates import Certificate
from readback.probe.connection.handshake import Handshake, shake, unverified
from readback.probe.context import ProbeContext
from readback.probe.entered.base_url import is_ip_address
from readback.probe.formatting import sanitize
from readback.probe.results import Fact, ProbeError

_CLOCK_TOLERANCE = timedelta(hours=1)


def explain(context: ProbeContext, handshake: Handshake) -> ProbeError:
    """Return the error for a handshake that the verification has ended."""
    error = handshake.verification_error
    assert error is not None
    chain = read_chain(context, handshake)
    find_id = _KINDS.get(error.verify_code, _other)
    facts: dict[str, Fact] = {
        **describe(chain[0]),
        "host": context.base_url.host,
        "reason": sanitize(error.verify_message),
    }
    id = find_id(context, chain)
    if id in ("tls.expired", "tls.not_yet_valid", "tls.chain_dates"):
        id, facts = _examine_dates(context, chain, id, facts)
    return ProbeError(id, **facts)


def describe(certificate: Certificate) -> dict[str, Fact]:
    return {
        "subject": certificate.subject,
        "issuer": certificate.issuer,
        "since": f"{certificate.since:%Y-%m-%d}" if certificate.since else "?",
        "until": f"{certificate.until:%Y-%m-%d}" if certificate.until else "?",
    }


def read_chain(context: ProbeContext, handshake: Handshake) -> list[Certificate]:
    """Return what the server sent; ask again if this Python did not report it."""
    chain = handshake.chain
    if not chain:
        host = context.base_url.host
        again = shake(context.route, unverified(), context.timeout, host)
        chain = again.chain
    return list(map(certificates.read, chain)) or [certificates.UNREADABLE]


def _dates(_context: ProbeContext, chain: list[Certificate]) -> str:
    now = datetime.now(timezone.utc)
    if chain[0].is_valid_at(now):
        return "tls.chain_dates"
    is_early = chain[0].since is not None and now < chain[0].since
    return "tls.not_yet_valid" if is_early else "tls.expired"


def _self_signed(context: ProbeContext, chain: list[Certificate]) -> str:
    return _interception(chain) or "tls.self_signed"


def _unknown_issuer(context: ProbeContext, chain: list[Certificate]) -> str:
    if id := _interception(chain):
        return id
    own = chain[0]
    is_alone = all(other.raw_name != own.raw_issuer for other in chain)
    if is_alone and (own.is_public or own.has_issuer_address):
        return "tls.missing_intermediate"
    return "tls.unknown_issuer"


def _interception(chain: list[Certificate]) -> str:
    if chain[0].is_built_in:
        return "tls.default_certificate"
    is_known = any(certificate.is_interception for certificate in chain)
    return "tls.intercepted" if is_known else ""


def _wrong_name(context: ProbeContext, chain: list[Certificate]) -> str:
    host = context.base_url.host
    if is_ip_address(host):
        return "tls.ip_address"
    # RFC 9525 §6.3: the wildcard stands for exactly one part of a name.
    wildcards = (name.lower() for name in chain[0].hosts if name.startswith("*."))
    is_deeper = any(
        host.endswith(name[1:]) and host.count(".") > name.count(".")
        for name in wildcards
    )
    return "tls.wildcard" if is_deeper else "tls.wrong_name"


def _other(_context: ProbeContext, _chain: list[Certificate]) -> str:
    return "tls.untrusted"


def _always(id: str) -> Callable[[ProbeContext, list[Certificate]], str]:
    return lambda _context, _chain: id


# By the X509_V_ERR_… codes of OpenSSL, from x509_vfy.h.
_KINDS: dict[int, Callable[[ProbeContext, list[Certificate]], str]] = {
    2: _unknown_issuer,
    9: _dates,
    10: _dates,
    18: _self_signed,
    19: _unknown_issuer,
    20: _unknown_issuer,
    21: _unknown_issuer,
    26: _always("tls.wrong_purpose"),
    47: _always("tls.name_constraints"),
    48: _always("tls.name_constraints"),
    62: _wrong_name,
    64: _wrong_name,
    66: _always("tls.weak_certificate"),
    67: _always("tls.weak_certificate"),
    68: _always("tls.weak_certificate"),
}


def _examine_dates(
    context: ProbeContext, chain: list[Certificate], id: str, facts: dict[str, Fact]
) -> tuple[str, dict[str, Fact]]:
    """Find the certificate whose dates are wrong, or that the clock is."""
    now = datetime.now(timezone.utc)
    wrong = next((one for one in chain if not one.is_valid_at(now)), None)
    if wrong is None:
        # Only the root is not sent, so it is the one in the store.
        return id, {**facts, "name": chain[-1].issuer, "period": "unknown dates"}
    there = _server_time(context)
    if there and abs(there - now) > _CLOCK_TOLERANCE and wrong.is_valid_at(there):
        here, served = f"{now:%Y-%m-%d %H:%M}", f"{there:%Y-%m-%d %H:%M}"
        return "tls.clock", {**facts, "here": here, "there": served}
    dates = describe(wrong)
    period = f"{dates['since']} to {dates['until']}"
    return id, {**facts, "name": wrong.name, "period": period}


def _server_time(context: ProbeContext) -> datetime | None:
    """Return the Date of a response; it is not verified, and only a hint."""
    trust, timeout = unverified(), context.timeout
    with ProbeClient(context.route, trust, timeout, context.budget) as client:
        try:
            date = client.request("GET", "/").headers["Date"]
            return parsedate_to_datetime(date).astimezone(timezone.utc)
        except (ProbeError, TypeError, ValueError, IndexError, OverflowError):
            return None
