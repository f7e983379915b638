"""Diagnoses of what other programs would do here."""

from __future__ import annotations

from readback.probe.diagnoses.templates import fail, ok, skip
from readback.probe.results import Culprit, FailureFamily

_FIRST = "First difference: {difference}."

CLIENTS = (
    ok("openai.same", "The text is returned unchanged through openai {version} too."),
    skip(
        "openai.missing",
        "The openai package is not installed in the probe's environment.",
        "Install it with: pip install openai",
    ),
    fail(
        "openai.fails",
        FailureFamily.LIBRARY,
        Culprit.LIBRARY,
        "The connection works, but openai {version} fails: {reason}",
        "Check its settings: base_url, api_key, proxies, certificates.",
    ),
    fail(
        "openai.changes",
        FailureFamily.LIBRARY,
        Culprit.LIBRARY,
        "The connection works, but openai {version} changes the text. " + _FIRST,
        "Look for a wrapper or a hook around the library.",
    ),
)
