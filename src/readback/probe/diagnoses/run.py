"""Diagnoses of the run itself: steps that were skipped, stopped or failed."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import fail, skip, warn

RUN = (
    skip("skipped.failed", "Skipped because “{reason}” failed."),
    skip("skipped.budget", "Skipped because {limit} requests have been sent."),
    skip("skipped.ended", "Skipped because the run ended at “{reason}”."),
    skip("probe.interrupted", "The run was interrupted during this step."),
    warn(
        "probe.time_limit",
        Culprit.SERVICE,
        "The run was ended during this step, because it had taken {limit} s.",
        "Responses take too long: look at the times of the other steps. With a longer "
        "--timeout, the whole run may also take longer.",
    ),
    fail(
        "probe.unexpected",
        FailureFamily.PROBE,
        Culprit.PROBE,
        "This step of the probe ended with an error of its own: {reason}.",
        "The other steps are not affected. Please report it with the output of "
        "--json; it contains no key and no text.",
    ),
)
