"""Every misfortune is told from the others, by its id, within the budget."""

import socket

import pytest

from readback.probe.calls import MAX_REQUESTS
from readback.probe.diagnoses import TABLE
from readback.probe.findings import Family, Verdict
from readback.probe.output import forms
from readback.probe.report import Report
from readback.probe.scene import Scene
from readback.probe.secret import Secret
from readback.probe.walk import STEPS, walk
from tests.probe.displays import Silent
from tests.probe.misfortunes import MISFORTUNES
from tests.probe.situations import Misfortune, Situation, World


def probed(situation: Situation) -> Report:
    scene = Scene(
        situation.base_url,
        Secret(situation.key),
        situation.timeout,
        situation.cabinet,
    )
    return walk(scene, STEPS, Silent())


@pytest.mark.parametrize("misfortune", MISFORTUNES, ids=lambda one: one.id)
def test_a_misfortune_is_told_by_its_id(
    misfortune: Misfortune, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    if misfortune.id == "tcp.v6_only" and not _has_v6():
        pytest.skip("this machine has no IPv6")
    with misfortune.befall(world) as situation:
        for name, value in situation.environment.items():
            monkeypatch.setenv(name, value)
        report = probed(situation)
    lines = [f"{line.step} {line.finding.id}" for line in report.lines]
    assert report.id == misfortune.id, lines
    assert report.family == TABLE[misfortune.id].family
    assert report.requests <= MAX_REQUESTS
    if situation.key:
        assert situation.key not in forms.as_json(report) + forms.as_markdown(report)


def test_each_misfortune_has_an_id_of_its_own() -> None:
    ids = [one.id for one in MISFORTUNES]
    assert len(set(ids)) == len(ids)


def test_nothing_is_wrong_where_all_is_well(world: World) -> None:
    readback = world.readback
    report = probed(Situation(readback.base_url, readback.api_key))
    assert report.family == Family.WELL
    assert report.verdict == Verdict.OK, [line.finding for line in report.lines]
    skipped = [line.step for line in report.lines if line.finding.verdict == "skip"]
    assert skipped == ["tls"]


def _has_v6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True
