"""Diagnoses of the returned text and the latency."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import CHECK_BETWEEN, fail, ok, warn

_FIRST = "First difference: {difference}."

ECHO = (
    ok("echo.same", "Returned unchanged, byte for byte."),
    fail(
        "echo.charset",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "The character encoding was changed in transit ({cause}). " + _FIRST,
        "A proxy, gateway or wrapper reads or writes JSON in an encoding other than "
        "UTF-8. Set it to UTF-8 there.",
    ),
    fail(
        "echo.normalised",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "The text was normalized to {cause} in transit. " + _FIRST,
        CHECK_BETWEEN,
    ),
    fail(
        "echo.smart_quotes",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "Quotation marks, dashes or dots were replaced with typographic ones in "
        "transit. " + _FIRST,
        "Turn off automatic replacement where the text is typed or forwarded.",
    ),
    fail(
        "echo.line_ends",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "Line endings were changed in transit ({cause}). " + _FIRST,
        "Look for a gateway, or for a file transfer in text mode.",
    ),
    fail(
        "echo.truncated",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "The text was cut off after {received} of {sent} bytes. " + _FIRST,
        "Look for a buffer or a size limit in a proxy or gateway.",
    ),
    fail(
        "echo.trimmed",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "Whitespace at the start or end was removed in transit. " + _FIRST,
        CHECK_BETWEEN,
    ),
    fail(
        "echo.controls",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "Control or invisible characters were removed in transit. " + _FIRST,
        "Look for a filter that cleans up text.",
    ),
    fail(
        "echo.escaped",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "The text was escaped for HTML in transit. " + _FIRST,
        CHECK_BETWEEN,
    ),
    fail(
        "echo.changed",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "The text was changed in transit. " + _FIRST,
        CHECK_BETWEEN,
    ),
    fail(
        "echo.replayed",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "The same response arrived twice: it comes from a cache or a recording.",
        "Exclude the address from caching; every response is marked no-store.",
    ),
    fail(
        "echo.shape",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "The response is not a completion as defined by the contract.",
        CHECK_BETWEEN,
    ),
    fail(
        "echo.media_type",
        FailureFamily.ECHO,
        Culprit.PROXY,
        "The request was compressed or its Content-Type changed in transit: {detail}",
        "Turn off request compression in the proxy.",
    ),
    ok("latency.ok", "{samples} echoes, each on a new connection."),
    warn(
        "latency.slow",
        Culprit.NETWORK,
        "The connection is slow: {samples} echoes, each on a new connection.",
        "A long connect time means distance. If only the answer time is long, a proxy "
        "or the service is slow.",
    ),
)
