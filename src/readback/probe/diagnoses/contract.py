"""Diagnoses of the contract: models, limits, parameters, the cabinet."""

from __future__ import annotations

from readback.contract import MAX_CONTENT_BYTES, MODEL
from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import CHECK_BETWEEN, ok, rows, skip

entered, proxy, service = rows(
    FailureFamily.HTTP, Culprit.INPUT, Culprit.PROXY, Culprit.SERVICE
)

CONTRACT = (
    ok("models.ok", f"The list contains one model, {MODEL}."),
    proxy.fail(
        "models.changed", "The list of models differs from the contract.", CHECK_BETWEEN
    ),
    ok("limit.refused", "A text one byte over the limit is refused, as it should be."),
    proxy.warn(
        "limit.refused_elsewhere",
        "A text one byte over the limit is refused with {status}, but not by the "
        "service.",
        "Something between you and the service has a lower limit.",
    ),
    proxy.fail(
        "limit.ignored",
        f"A text of {MAX_CONTENT_BYTES + 1} bytes is not refused: it was shortened "
        "before it reached the service.",
        CHECK_BETWEEN,
        family=FailureFamily.ECHO,
    ),
    ok(
        "parameter.refused",
        "A request with a URL parameter is refused, as it should be.",
    ),
    proxy.fail(
        "parameter.ignored",
        "A URL parameter leads to {status} instead of 404: something removes it.",
        "Look for a proxy or gateway that rewrites URLs.",
    ),
    ok("reuse.ok", "The second request used the same connection."),
    proxy.warn(
        "reuse.closed",
        "Each request needs a new connection, which costs time.",
        "Look for a proxy that closes connections, and turn on keep-alive there.",
    ),
    ok("cabinet.same", "The cabinet shows this address."),
    skip(
        "cabinet.unknown",
        "The service does not say where its cabinet is.",
        "Use --cabinet URL to compare the address with the cabinet's.",
    ),
    service.warn(
        "cabinet.unreachable",
        "The cabinet at {cabinet} did not provide the address: {reason}.",
        "Compare the address yourself, or pass the right cabinet with --cabinet.",
    ),
    entered.warn(
        "cabinet.differs",
        "The cabinet shows a different address: {current}.",
        "Use that one, unless you know why yours differs.",
    ),
    entered.fail(
        "cabinet.moved",
        "The service has moved to {current}; you are using its previous address.",
        "Change the address in your program to the new one.",
        family=FailureFamily.ADDRESS,
    ),
)
