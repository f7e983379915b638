"""The table of diagnoses: each id with its verdict, culprit, sentence and hint.

There is one module per topic, from the address to the run itself. Sentences are
templates; the steps supply the facts.
"""

from __future__ import annotations

from dataclasses import replace

from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.diagnoses.address import ADDRESS
from readback.probe.diagnoses.between import BETWEEN
from readback.probe.diagnoses.contract import CONTRACT, ECHO
from readback.probe.diagnoses.endpoint import CLIENTS, ENDPOINT
from readback.probe.diagnoses.http import HTTP
from readback.probe.diagnoses.key import KEY
from readback.probe.diagnoses.network import NETWORK
from readback.probe.diagnoses.proxies import PROXIES
from readback.probe.diagnoses.run import COMPARE, RUN
from readback.probe.diagnoses.tls import CERTIFICATES, STORES, TLS

TABLES = (
    ADDRESS,
    KEY,
    PROXIES,
    NETWORK,
    TLS,
    CERTIFICATES,
    STORES,
    HTTP,
    CONTRACT,
    ECHO,
    BETWEEN,
    ENDPOINT,
    CLIENTS,
    COMPARE,
    RUN,
)
TEMPLATES = {template.id: template for table in TABLES for template in table}


def diagnose(id: str, *, figure: str = "", **facts: Fact) -> Diagnosis:
    """Return the diagnosis with this id, its templates filled with the facts."""
    template = TEMPLATES[id]
    return replace(
        template,
        sentence=template.sentence.format(**facts),
        hint=template.hint.format(**facts),
        figure=figure,
        facts=facts,
    )


def from_error(error: ProbeError) -> Diagnosis:
    return diagnose(error.id, figure="", **error.facts)
