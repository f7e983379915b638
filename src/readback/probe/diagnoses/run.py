"""Diagnoses of the run itself: steps that were skipped or ended unexpectedly."""

from __future__ import annotations

from readback.probe.diagnoses.templates import fail, skip
from readback.probe.results import Culprit, FailureFamily

RUN = (
    skip("skipped.failed", "Skipped because “{reason}” failed."),
    skip("skipped.budget", "Skipped because {limit} requests have been sent."),
    fail(
        "probe.unexpected",
        FailureFamily.PROBE,
        Culprit.PROBE,
        "This step of the probe ended with an error of its own: {reason}.",
        "The other steps are not affected. Please report it with the output of "
        "--json; it contains no key and no text.",
    ),
)
