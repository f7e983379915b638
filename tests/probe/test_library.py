"""`--as openai` tells a library failure from a connection failure."""

import pytest

from readback.probe.context import ProbeContext
from readback.probe.entered.secret import Secret
from readback.probe.report import ProbeReport
from readback.probe.results import FailureFamily
from readback.probe.runner import OPENAI, STEPS, run_probe
from tests.probe.displays import SilentDisplay
from tests.support.server import Server


def probed(readback: Server) -> ProbeReport:
    context = ProbeContext(readback.base_url, Secret(readback.api_key))
    return run_probe(context, (*STEPS, OPENAI), SilentDisplay())


def test_a_working_library_passes(readback: Server) -> None:
    report = probed(readback)
    assert report.results[-1].diagnosis.id == "openai.same"
    assert report.family == FailureFamily.NONE


def test_a_failing_library_on_a_working_connection_is_reported(
    readback: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The package reads this variable but cannot encode the value in a header.
    monkeypatch.setenv("OPENAI_ORG_ID", "организация")
    report = probed(readback)
    assert (report.id, report.family) == ("openai.fails", FailureFamily.LIBRARY)
