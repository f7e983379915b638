"""The rows of the tables: diagnoses whose sentence and hint are templates.

A row is a text: the sentence, then the hint after an arrow, with line breaks anywhere.
Its id is its place in a table, and a failure has the family of its table unless it
names another one.
"""

from __future__ import annotations

from dataclasses import dataclass

from readback.probe.common.results import Culprit, Diagnosis, FailureFamily, Verdict

# The hint for a change that could have been made anywhere in between.
CHECK_BETWEEN = (
    "Check everything between your program and the service: a proxy, a gateway, a "
    "filter, a wrapper around the client."
)


def ok(text: str) -> Diagnosis:
    return _row(Verdict.OK, Culprit.NONE, text)


def skip(text: str) -> Diagnosis:
    return _row(Verdict.SKIP, Culprit.NONE, text)


@dataclass(frozen=True)
class Rows:
    """Makes the rows for one culprit: where to look first."""

    culprit: Culprit

    def warn(self, text: str) -> Diagnosis:
        return _row(Verdict.WARN, self.culprit, text)

    def fail(
        self, text: str, hint: str = "", family: FailureFamily = FailureFamily.NONE
    ) -> Diagnosis:
        return _row(
            Verdict.FAIL, self.culprit, f"{text} → {hint}" if hint else text, family
        )


def _row(
    verdict: Verdict,
    culprit: Culprit,
    text: str,
    family: FailureFamily = FailureFamily.NONE,
) -> Diagnosis:
    sentence, _, hint = " ".join(text.split()).partition(" → ")
    return Diagnosis("", verdict, family, culprit, sentence, hint)


entered = Rows(Culprit.INPUT)
machine = Rows(Culprit.MACHINE)
network = Rows(Culprit.NETWORK)
proxy = Rows(Culprit.PROXY)
service = Rows(Culprit.SERVICE)
library = Rows(Culprit.LIBRARY)
probe = Rows(Culprit.PROBE)
