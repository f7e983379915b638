"""Runs the probe in this process, for tests that check only the report."""

from readback.probe.common.results import Diagnosis
from readback.probe.entered.key import Secret
from readback.probe.report import ProbeReport
from readback.probe.runner import STEPS, ProbeRun
from readback.probe.transport.connecting import Route
from readback.probe.transport.context import ProbeContext
from tests.probe.setups import ProbeInput


def probed(probe_input: ProbeInput, left_out: str = "") -> ProbeReport:
    """Run all steps except `left_out`."""
    context = ProbeContext(
        probe_input.base_url,
        Secret(probe_input.key),
        probe_input.timeout,
        probe_input.chat,
    )
    steps = (step for step in STEPS if step.id != left_out)
    return ProbeRun(context).run(steps)


def at(route: Route, timeout: float = 5.0) -> ProbeContext:
    """Return the context of a run that chose this route."""
    context = ProbeContext(str(route.target), Secret(""), timeout)
    context.route = route
    return context


def found(report: ProbeReport, finding: str) -> Diagnosis:
    """Return the diagnosis with this id; fail if the report does not have it."""
    diagnoses = {result.diagnosis.id: result.diagnosis for result in report.results}
    assert finding in diagnoses, list(diagnoses)
    return diagnoses[finding]
