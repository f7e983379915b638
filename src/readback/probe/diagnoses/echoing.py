"""Diagnoses of what comes back: the echo, its speed, the library, what is skipped."""

from readback.probe.diagnoses.rows import LOOK_BETWEEN, fail, ok, skip, warn
from readback.probe.findings import Culprit, Family

_FIRST = "First difference: {difference}."

_ECHO = (
    ok("echo.same", "Came back unchanged, byte for byte."),
    fail(
        "echo.charset",
        Family.ECHO,
        Culprit.PROXY,
        "The character set is changed on the way ({cause}). " + _FIRST,
        "Something reads or writes JSON in another encoding than UTF-8: look for it "
        "in the proxy, gateway or wrapper.",
    ),
    fail(
        "echo.normalised",
        Family.ECHO,
        Culprit.PROXY,
        "The text is normalised to {cause} on the way. " + _FIRST,
        LOOK_BETWEEN,
    ),
    fail(
        "echo.smart_quotes",
        Family.ECHO,
        Culprit.PROXY,
        "Quotation marks, dashes or dots are made typographic on the way. " + _FIRST,
        "Turn off automatic replacements where the text is typed or passed on.",
    ),
    fail(
        "echo.line_ends",
        Family.ECHO,
        Culprit.PROXY,
        "Line ends are changed on the way ({cause}). " + _FIRST,
        "Look for a gateway or a file transfer in text mode.",
    ),
    fail(
        "echo.truncated",
        Family.ECHO,
        Culprit.PROXY,
        "The text is cut off after {came} of {sent} bytes. " + _FIRST,
        "Look for a buffer or a size limit in a proxy or gateway.",
    ),
    fail(
        "echo.trimmed",
        Family.ECHO,
        Culprit.PROXY,
        "White space at the ends is removed on the way. " + _FIRST,
        LOOK_BETWEEN,
    ),
    fail(
        "echo.controls",
        Family.ECHO,
        Culprit.PROXY,
        "Control or invisible characters are removed on the way. " + _FIRST,
        "Look for a filter that cleans texts.",
    ),
    fail(
        "echo.escaped",
        Family.ECHO,
        Culprit.PROXY,
        "The text is escaped for HTML on the way. " + _FIRST,
        LOOK_BETWEEN,
    ),
    fail(
        "echo.changed",
        Family.ECHO,
        Culprit.PROXY,
        "The text is changed on the way. " + _FIRST,
        LOOK_BETWEEN,
    ),
    fail(
        "echo.replayed",
        Family.ECHO,
        Culprit.PROXY,
        "The same answer came twice: a cache or a recording answers.",
        "Exempt the address from caching: every answer says no-store.",
    ),
    fail(
        "echo.shape",
        Family.ECHO,
        Culprit.PROXY,
        "The answer is not a completion as the contract has it.",
        LOOK_BETWEEN,
    ),
    fail(
        "echo.media_type",
        Family.ECHO,
        Culprit.PROXY,
        "The request is compressed or its Content-Type is changed on the way: {detail}",
        "Turn compression of requests off in the proxy.",
    ),
)

_SPEED = (
    ok("latency.ok", "{samples} echoes, each on a new connection."),
    warn(
        "latency.slow",
        Culprit.NETWORK,
        "Slow: {samples} echoes, each on a new connection.",
        "A large connect time is distance; a large answer time alone is a proxy or "
        "the service.",
    ),
)

_LIBRARY = (
    ok("openai.same", "Through openai {version}, too, the text comes back unchanged."),
    skip(
        "openai.missing",
        "The package openai is not installed beside the probe.",
        "Install it with: pip install openai",
    ),
    fail(
        "openai.fails",
        Family.LIBRARY,
        Culprit.LIBRARY,
        "The way works, and openai {version} fails: {reason}",
        "Compare its settings: base_url, api_key, proxies, certificates.",
    ),
    fail(
        "openai.changes",
        Family.LIBRARY,
        Culprit.LIBRARY,
        "The way works, and openai {version} changes the text. " + _FIRST,
        "Look for a wrapper or a hook around the library.",
    ),
)

_WALK = (
    skip("skipped.failed", "Not tried, because “{reason}” failed."),
    skip("skipped.budget", "Not tried: {limit} requests have been sent."),
)

ECHOING = _ECHO + _SPEED + _LIBRARY + _WALK
