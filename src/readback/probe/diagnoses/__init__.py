"""The table of diagnoses: each id with its verdict, culprit, sentence and hint.

There is one module per topic, from the address to the run itself. Sentences are
templates; the steps supply the facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from readback.probe.common.formatting import Redactor
from readback.probe.common.results import (
    Diagnosis,
    Fact,
    FailureFamily,
    ProbeError,
    Verdict,
)
from readback.probe.diagnoses.between import BETWEEN
from readback.probe.diagnoses.connection import NETWORK, PROXIES
from readback.probe.diagnoses.endpoint import CLIENTS, ENDPOINT
from readback.probe.diagnoses.entered import ADDRESS, KEY
from readback.probe.diagnoses.run import RUN, SOMETIMES
from readback.probe.diagnoses.service import CONTRACT, ECHO, HTTP
from readback.probe.diagnoses.tls import CERTIFICATES, STORES, TLS

TABLES = (
    *(ADDRESS, KEY, PROXIES, NETWORK, TLS, CERTIFICATES, STORES, HTTP, CONTRACT, ECHO),
    *(BETWEEN, SOMETIMES, ENDPOINT, CLIENTS, RUN),
)
# By the topic of a failure, which is the first part of its id, or by the id itself; the
# others are failures of HTTP.
_FAMILIES = {
    FailureFamily.ADDRESS: ("address", "cabinet.moved"),
    FailureFamily.NETWORK: (
        *("proxies", "proxy", "dns", "tcp", "between.mtu", "between.idle_dead"),
    ),
    FailureFamily.TLS: ("tls", "sometimes.certificate"),
    FailureFamily.KEY: (
        *("key", "endpoint.forbidden", "endpoint.quota", "sometimes.key"),
    ),
    FailureFamily.ECHO: ("echo", "limit", "sometimes.changed"),
    FailureFamily.LIBRARY: ("run",),
    FailureFamily.PROBE: ("probe",),
}
_BY_NAME = {name: family for family, names in _FAMILIES.items() for name in names}


def _family(id: str, verdict: Verdict) -> FailureFamily:
    if verdict != Verdict.FAIL:
        return FailureFamily.NONE
    by_topic = _BY_NAME.get(id.partition(".")[0], FailureFamily.HTTP)
    return _BY_NAME.get(id, by_topic)


TEMPLATES = {
    id: replace(row, id=id, family=_family(id, row.verdict))
    for table in TABLES
    for id, row in table.items()
}


def diagnose(id: str, *, figure: str = "", **facts: Fact) -> Diagnosis:
    """Return the diagnosis with this id, its templates filled with the facts."""
    template = replace(TEMPLATES[id], figure=figure)
    return rendered(template, template, facts)


def rendered(
    diagnosis: Diagnosis, texts: Diagnosis, facts: Mapping[str, Fact]
) -> Diagnosis:
    """Return the diagnosis with other facts, or other templates for its texts."""
    return replace(
        diagnosis,
        sentence=texts.sentence.format(**facts),
        hint=texts.hint.format(**facts).strip(),
        facts=facts,
    )


def redacted(diagnosis: Diagnosis, redactor: Redactor) -> Diagnosis:
    """Return the diagnosis without credentials or what a terminal would interpret.

    The templates are ours: only the facts in them can contain a secret, so a key that
    is a common word does not spoil the sentence.
    """
    facts = {name: redactor.fact(fact) for name, fact in diagnosis.facts.items()}
    return replace(
        rendered(diagnosis, TEMPLATES[diagnosis.id], facts),
        figure=redactor.text(diagnosis.figure),
        details=tuple(map(redactor.text, diagnosis.details)),
    )


def from_error(error: ProbeError) -> Diagnosis:
    return diagnose(error.id, figure="", **error.facts)
