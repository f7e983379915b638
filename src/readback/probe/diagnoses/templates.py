"""The rows of the tables: diagnoses whose sentence and hint are templates.

A row is a text: the sentence, then the hint after an arrow, with line breaks anywhere.
After a simple arrow the hint is for everybody. After a double one it takes an engineer:
the person is told to send the report, and the hint goes with it.
Its id is its place in a table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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

    def fail(self, text: str, hint: str = "") -> Diagnosis:
        return _row(Verdict.FAIL, self.culprit, f"{text} → {hint}" if hint else text)


def _row(verdict: Verdict, culprit: Culprit, text: str) -> Diagnosis:
    takes_engineer = " ⇒ " in text
    arrow = " ⇒ " if takes_engineer else " → "
    sentence, _, hint = " ".join(text.split()).partition(arrow)
    row = Diagnosis("", verdict, FailureFamily.NONE, culprit, sentence, hint)
    return replace(row, takes_engineer=takes_engineer)


entered = Rows(Culprit.INPUT)
machine = Rows(Culprit.MACHINE)
network = Rows(Culprit.NETWORK)
proxy = Rows(Culprit.PROXY)
service = Rows(Culprit.SERVICE)
library = Rows(Culprit.LIBRARY)
probe = Rows(Culprit.PROBE)
