"""`--as openai` tells a broken library from a broken way, with the real package."""

import pytest

from readback.probe.findings import Family
from readback.probe.report import Report
from readback.probe.scene import Scene
from readback.probe.secret import Secret
from readback.probe.walk import OPENAI, STEPS, walk
from tests.probe.displays import Silent
from tests.support.server import Server


def probed(readback: Server) -> Report:
    scene = Scene(readback.base_url, Secret(readback.api_key))
    return walk(scene, (*STEPS, OPENAI), Silent())


def test_a_library_that_works_is_named_with_its_version(readback: Server) -> None:
    report = probed(readback)
    assert report.lines[-1].finding.id == "openai.same"
    assert report.family == Family.WELL


def test_a_library_that_fails_on_a_way_that_works_is_found_out(
    readback: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The package reads this by itself, and cannot write it into a header.
    monkeypatch.setenv("OPENAI_ORG_ID", "организация")
    report = probed(readback)
    assert (report.id, report.family) == ("openai.fails", Family.LIBRARY)
