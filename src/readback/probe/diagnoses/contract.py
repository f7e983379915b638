"""Diagnoses of the contract: the echo, models, limits, parameters, the cabinet."""

from __future__ import annotations

from readback.contract import MAX_CONTENT_BYTES, MODEL
from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import CHECK_BETWEEN, ok, rows, skip

entered, network, proxy, service = rows(
    FailureFamily.ECHO, Culprit.INPUT, Culprit.NETWORK, Culprit.PROXY, Culprit.SERVICE
)

CONTRACT = (
    ok("models.ok", f"The list contains one model, {MODEL}."),
    proxy.fail(
        "models.changed",
        "The list of models differs from the contract.",
        CHECK_BETWEEN,
        family=FailureFamily.HTTP,
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
    ),
    ok(
        "parameter.refused",
        "A request with a URL parameter is refused, as it should be.",
    ),
    proxy.fail(
        "parameter.ignored",
        "A URL parameter leads to {status} instead of 404: something removes it.",
        "Look for a proxy or gateway that rewrites URLs.",
        family=FailureFamily.HTTP,
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
_FIRST = "First difference: {difference}."

ECHO = (
    ok("echo.same", "Returned unchanged, byte for byte."),
    proxy.fail(
        "echo.charset",
        "The character encoding was changed in transit ({cause}). " + _FIRST,
        "A proxy, gateway or wrapper reads or writes JSON in an encoding other than "
        "UTF-8. Set it to UTF-8 there.",
    ),
    proxy.fail(
        "echo.normalised",
        "The text was normalized to {cause} in transit. " + _FIRST,
        CHECK_BETWEEN,
    ),
    proxy.fail(
        "echo.smart_quotes",
        "Quotation marks, dashes or dots were replaced with typographic ones in "
        "transit. " + _FIRST,
        "Turn off automatic replacement where the text is typed or forwarded.",
    ),
    proxy.fail(
        "echo.line_ends",
        "Line endings were changed in transit ({cause}). " + _FIRST,
        "Look for a gateway, or for a file transfer in text mode.",
    ),
    proxy.fail(
        "echo.truncated",
        "The text was cut off after {received} of {sent} bytes. " + _FIRST,
        "Look for a buffer or a size limit in a proxy or gateway.",
    ),
    proxy.fail(
        "echo.trimmed",
        "Whitespace at the start or end was removed in transit. " + _FIRST,
        CHECK_BETWEEN,
    ),
    proxy.fail(
        "echo.controls",
        "Control or invisible characters were removed in transit. " + _FIRST,
        "Look for a filter that cleans up text.",
    ),
    proxy.fail(
        "echo.escaped",
        "The text was escaped for HTML in transit. " + _FIRST,
        CHECK_BETWEEN,
    ),
    proxy.fail(
        "echo.changed", "The text was changed in transit. " + _FIRST, CHECK_BETWEEN
    ),
    proxy.fail(
        "echo.replayed",
        "The same response arrived twice: it comes from a cache or a recording.",
        "Exclude the address from caching; every response is marked no-store.",
    ),
    proxy.fail(
        "echo.shape",
        "The response is not a completion as defined by the contract.",
        CHECK_BETWEEN,
    ),
    proxy.fail(
        "echo.media_type",
        "The request was compressed or its Content-Type changed in transit: {detail}",
        "Turn off request compression in the proxy.",
    ),
    ok("latency.ok", "{samples} echoes, each on a new connection."),
    network.warn(
        "latency.slow",
        "The connection is slow: {samples} echoes, each on a new connection.",
        "A long connect time means distance. If only the answer time is long, a proxy "
        "or the service is slow.",
    ),
)
