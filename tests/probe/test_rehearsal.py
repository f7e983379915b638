"""A rehearsal key: its failures are intended, so the probe finds no fault."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from readback.probe.output.text import as_json, as_short
from tests.probe.probing import found, probed
from tests.probe.setups import ProbeInput, Resources, over_tls, serving
from tests.support.api import Api
from tests.support.waiting import wait_until


@pytest.mark.parametrize("pattern", ["429 429 ok", "wait30", "ok 500", "503"])
def test_a_rehearsal_key_is_recognised_and_no_fault(
    resources: Resources, pattern: str
) -> None:
    readback = resources.readback
    key = readback.new_key(pattern)
    report = probed(ProbeInput(readback.base_url, key))
    assert report.id == "ok", as_short(report)
    assert found(report, "key.rehearsal").facts["pattern"] == pattern
    first = as_short(report).splitlines()[0]
    assert "This is a rehearsal key: its answers follow the pattern" in first
    assert json.loads(as_json(report))["verdict"] == "ok"


def test_a_rehearsal_key_is_named_before_a_warning(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = resources.readback.new_key("503")
    soon = over_tls(serving(until=timedelta(minutes=10)))
    with soon(resources) as probe_input:
        for name, value in probe_input.environment.items():
            monkeypatch.setenv(name, value)
        report = probed(replace(probe_input, key=key))
    assert report.id == "tls.expires_soon"
    assert report.sentence.startswith("This is a rehearsal key: ")


def test_the_probe_uses_no_step_and_no_row_of_the_journal(
    resources: Resources,
) -> None:
    readback = resources.readback
    api = Api.of(readback).with_key(readback.new_key("503 ok"))
    probed(ProbeInput(readback.base_url, api.key))
    assert [api.models().status for _ in range(2)] == [503, 200]
    written = {("models", "rehearsed"): 1, ("models", ""): 1}
    wait_until(lambda: readback.database.usage(api.key) == written, "both are written")
