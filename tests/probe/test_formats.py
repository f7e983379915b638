"""The Markdown report."""

from datetime import UTC, datetime

from readback.probe.diagnoses import diagnose
from readback.probe.output import formats
from readback.probe.report import ProbeReport
from readback.probe.results import StepResult


def test_a_hint_that_applies_to_several_steps_is_printed_once() -> None:
    diagnosis = diagnose("echo.changed", difference="character 1")
    results = [StepResult(f"echo.{n}", f"echo: {n}", diagnosis) for n in range(3)]
    report = ProbeReport(
        "https://echo.example/v1", "none", datetime.now(UTC), 1, 3, results
    )
    assert formats.as_markdown(report).count(diagnosis.hint) == 1
