"""Short constructors for the rows of the tables, one for each verdict.

A row is a diagnosis whose sentence and hint are templates for `str.format`.
"""

from __future__ import annotations

from dataclasses import dataclass

from readback.probe.common.results import Culprit, Diagnosis, FailureFamily, Verdict

# The hint for a change that could have been made anywhere in between.
CHECK_BETWEEN = (
    "Check everything between your program and the service: a proxy, a gateway, a "
    "filter, a wrapper around the client."
)


def ok(id: str, sentence: str) -> Diagnosis:
    return Diagnosis(id, Verdict.OK, FailureFamily.NONE, Culprit.NONE, sentence)


def skip(id: str, sentence: str, hint: str = "") -> Diagnosis:
    return Diagnosis(id, Verdict.SKIP, FailureFamily.NONE, Culprit.NONE, sentence, hint)


@dataclass(frozen=True)
class Rows:
    """Makes the rows of a table for one culprit: where to look first."""

    family: FailureFamily
    culprit: Culprit

    def warn(self, id: str, sentence: str, hint: str) -> Diagnosis:
        return Diagnosis(
            id, Verdict.WARN, FailureFamily.NONE, self.culprit, sentence, hint
        )

    def fail(
        self, id: str, sentence: str, hint: str, family: FailureFamily | None = None
    ) -> Diagnosis:
        return Diagnosis(
            id, Verdict.FAIL, family or self.family, self.culprit, sentence, hint
        )


def rows(family: FailureFamily, *culprits: Culprit) -> tuple[Rows, ...]:
    """Return what makes the rows of each culprit; failures are of this family."""
    return tuple(Rows(family, culprit) for culprit in culprits)
