"""The rows of the tables: diagnoses whose sentence and hint are templates.

A row has no id, which is its place in a table, and a failure has the family of its
table unless it names another one.
"""

from __future__ import annotations

from dataclasses import dataclass

from readback.probe.common.results import Culprit, Diagnosis, FailureFamily, Verdict

# The hint for a change that could have been made anywhere in between.
CHECK_BETWEEN = (
    "Check everything between your program and the service: a proxy, a gateway, a "
    "filter, a wrapper around the client."
)
_NONE = FailureFamily.NONE


def ok(sentence: str) -> Diagnosis:
    return Diagnosis("", Verdict.OK, _NONE, Culprit.NONE, sentence)


def skip(sentence: str, hint: str = "") -> Diagnosis:
    return Diagnosis("", Verdict.SKIP, _NONE, Culprit.NONE, sentence, hint)


@dataclass(frozen=True)
class Rows:
    """Makes the rows for one culprit: where to look first."""

    culprit: Culprit

    def warn(self, sentence: str, hint: str) -> Diagnosis:
        return Diagnosis("", Verdict.WARN, _NONE, self.culprit, sentence, hint)

    def fail(
        self, sentence: str, hint: str, family: FailureFamily = _NONE
    ) -> Diagnosis:
        return Diagnosis("", Verdict.FAIL, family, self.culprit, sentence, hint)


entered = Rows(Culprit.INPUT)
machine = Rows(Culprit.MACHINE)
network = Rows(Culprit.NETWORK)
proxy = Rows(Culprit.PROXY)
service = Rows(Culprit.SERVICE)
library = Rows(Culprit.LIBRARY)
probe = Rows(Culprit.PROBE)
