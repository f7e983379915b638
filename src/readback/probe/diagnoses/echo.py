"""Diagnoses of the returned text and the latency."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import CHECK_BETWEEN, ok, rows

network, proxy = rows(FailureFamily.ECHO, Culprit.NETWORK, Culprit.PROXY)

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
