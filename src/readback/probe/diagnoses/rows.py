"""The form of a diagnosis, and a short way to write each kind of row."""

from dataclasses import dataclass

from readback.probe.findings import Culprit, Family, Verdict

# The hint where only looking helps.
LOOK_BETWEEN = (
    "Look for what stands between you and the service: a gateway, a filter, a "
    "wrapper around the client."
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One row; `sentence` and `hint` are templates for `str.format`."""

    id: str
    verdict: Verdict
    family: Family
    culprit: Culprit
    sentence: str
    hint: str = ""


def ok(id: str, sentence: str) -> Diagnosis:
    return Diagnosis(id, Verdict.OK, Family.WELL, Culprit.NOBODY, sentence)


def skip(id: str, sentence: str, hint: str = "") -> Diagnosis:
    return Diagnosis(id, Verdict.SKIP, Family.WELL, Culprit.NOBODY, sentence, hint)


def warn(id: str, culprit: Culprit, sentence: str, hint: str) -> Diagnosis:
    return Diagnosis(id, Verdict.WARN, Family.WELL, culprit, sentence, hint)


def fail(
    id: str, family: Family, culprit: Culprit, sentence: str, hint: str
) -> Diagnosis:
    return Diagnosis(id, Verdict.FAIL, family, culprit, sentence, hint)
