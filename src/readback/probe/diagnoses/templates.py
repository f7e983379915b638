"""The template of a diagnosis, and a short constructor for each verdict."""

from __future__ import annotations

from dataclasses import dataclass

from readback.probe.common.results import Culprit, FailureFamily, Verdict

# The hint for a change that could have been made anywhere in between.
CHECK_BETWEEN = (
    "Check everything between your program and the service: a proxy, a gateway, a "
    "filter, a wrapper around the client."
)


@dataclass(frozen=True)
class DiagnosisTemplate:
    """A row of the table; `sentence` and `hint` are templates for `str.format`."""

    id: str
    verdict: Verdict
    family: FailureFamily
    culprit: Culprit
    sentence: str
    hint: str = ""


def ok(id: str, sentence: str) -> DiagnosisTemplate:
    return DiagnosisTemplate(id, Verdict.OK, FailureFamily.NONE, Culprit.NONE, sentence)


def skip(id: str, sentence: str, hint: str = "") -> DiagnosisTemplate:
    return DiagnosisTemplate(
        id, Verdict.SKIP, FailureFamily.NONE, Culprit.NONE, sentence, hint
    )


def warn(id: str, culprit: Culprit, sentence: str, hint: str) -> DiagnosisTemplate:
    return DiagnosisTemplate(
        id, Verdict.WARN, FailureFamily.NONE, culprit, sentence, hint
    )


def fail(
    id: str, family: FailureFamily, culprit: Culprit, sentence: str, hint: str
) -> DiagnosisTemplate:
    return DiagnosisTemplate(id, Verdict.FAIL, family, culprit, sentence, hint)
