"""The table of diagnoses: every id, with its verdict, culprit, sentence and hint.

`reaching` has the way to the service, `answering` who is there, `echoing` what comes
back. Sentences are templates; the facts that fill them come from the steps.
"""

from collections.abc import Mapping

from readback.probe.diagnoses.answering import ANSWERING
from readback.probe.diagnoses.echoing import ECHOING
from readback.probe.diagnoses.reaching import REACHING
from readback.probe.diagnoses.rows import Diagnosis
from readback.probe.findings import Fact, Finding, Trouble

TABLE: dict[str, Diagnosis] = {row.id: row for row in REACHING + ANSWERING + ECHOING}


def found(id: str, *, figure: str = "", **facts: Fact) -> Finding:
    """Make the finding of a row, with the facts in their places."""
    return _fill(TABLE[id], figure, facts)


def of(trouble: Trouble) -> Finding:
    return _fill(TABLE[trouble.id], "", trouble.facts)


def _fill(row: Diagnosis, figure: str, facts: Mapping[str, Fact]) -> Finding:
    return Finding(
        row.id,
        row.verdict,
        row.family,
        row.culprit,
        row.sentence.format(**facts),
        row.hint.format(**facts),
        figure,
        facts,
    )
