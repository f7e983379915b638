"""The table of diagnoses: each id with its verdict, culprit, sentence and hint.

`connection` covers everything up to the TLS connection, `service` what responds there,
and `echo` the returned text. Sentences are templates; the steps supply the facts.
"""

from collections.abc import Mapping

from readback.probe.diagnoses.connection import CONNECTION
from readback.probe.diagnoses.echo import ECHO
from readback.probe.diagnoses.service import SERVICE
from readback.probe.diagnoses.templates import DiagnosisTemplate
from readback.probe.results import Diagnosis, Fact, ProbeError

TEMPLATES: dict[str, DiagnosisTemplate] = {
    template.id: template for template in CONNECTION + SERVICE + ECHO
}


def diagnose(id: str, *, figure: str = "", **facts: Fact) -> Diagnosis:
    """Return the diagnosis with this id, its templates filled with the facts."""
    return _fill(TEMPLATES[id], figure, facts)


def from_error(error: ProbeError) -> Diagnosis:
    return _fill(TEMPLATES[error.id], "", error.facts)


def _fill(
    template: DiagnosisTemplate, figure: str, facts: Mapping[str, Fact]
) -> Diagnosis:
    return Diagnosis(
        template.id,
        template.verdict,
        template.family,
        template.culprit,
        template.sentence.format(**facts),
        template.hint.format(**facts),
        figure,
        facts,
    )
