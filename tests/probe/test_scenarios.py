"""The probe reports the right diagnosis for every scenario, within its budget.

The first scenario of each group, such as `tls`, runs in `make test`, all others in
`make long`.
"""

import json

import pytest

from readback.probe.common.catalogue import catalogue
from readback.probe.common.results import FailureFamily, Verdict
from readback.probe.transport.exchanges import MAX_REQUESTS
from tests.probe.forms import FORMS, REPORT_SCHEMA
from tests.probe.probing import probed
from tests.probe.scenarios import SCENARIOS
from tests.probe.setups import ProbeInput, Resources, Scenario

_FIRST = {one.id.partition(".")[0]: one for one in reversed(SCENARIOS)}.values()


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(one, marks=() if one in _FIRST else pytest.mark.long)
        for one in SCENARIOS
    ],
    ids=[one.id for one in SCENARIOS],
)
def test_a_scenario_gets_its_diagnosis(
    scenario: Scenario, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scenario.arrange(resources) as probe_input:
        for name, value in probe_input.environment.items():
            monkeypatch.setenv(name, value)
        report = probed(probe_input)
    results = [f"{result.step} {result.diagnosis.id}" for result in report.results]
    assert report.id == scenario.id, results
    assert report.family == catalogue().findings[scenario.id].family
    assert report.requests <= MAX_REQUESTS
    REPORT_SCHEMA.validate(json.loads(FORMS["json"](report)))
    if probe_input.key:
        # Every form is made of the report, and of nothing else.
        assert probe_input.key not in repr(report)
        for form in FORMS.values():
            assert probe_input.key not in form(report)


def test_every_scenario_has_a_different_id() -> None:
    ids = [one.id for one in SCENARIOS]
    assert len(set(ids)) == len(ids)


def test_a_working_connection_has_no_failures_or_warnings(resources: Resources) -> None:
    readback = resources.readback
    report = probed(ProbeInput(readback.base_url, readback.api_key))
    assert report.family == FailureFamily.NONE
    assert report.verdict == Verdict.OK, [result.diagnosis for result in report.results]
    skipped = [
        result.step for result in report.results if result.diagnosis.verdict == "skip"
    ]
    assert skipped == ["tls"]
