"""The pages of the benchmark show what was measured, and keep earlier runs."""

import re

import pytest
from bench import fleets, instructions, render, results, runs
from bench.__main__ import main
from bench.goals import Measurements
from click.testing import CliRunner

MACHINE = {"cpu": "Xeon", "architecture": "x86_64", "python": "3.11.7"}


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Keep published and trial results in folders of this test."""
    monkeypatch.setattr(results, "PUBLISHED", tmp_path / "published")
    monkeypatch.setattr(results, "TRIALS", tmp_path / "trials")
    return tmp_path


def measured(ours: float) -> dict[str, object]:
    """Return results of the peers in which nginx reaches 100."""
    rates = {"nginx": 100.0, "readback": ours}
    peers = {
        name: {
            "family": "limit",
            "rounds": [{"per_cpu_second": rate, "others_share": 0.25}],
        }
        for name, rate in rates.items()
    }
    return {"peers": peers}


def test_the_pages_show_the_published_results():
    costs = fleets.measured_costs()
    found = {name: fleets.plan(costs, *size) for name, size in fleets.SIZES.items()}
    shown = {
        fleets.table(found): fleets.PAGE,
        fleets.limits(costs, found): fleets.PAGE,
        runs.table(results.read("runs")["runs"]): render.PAGE,
        render.counted_work(results.read("instructions")): render.PAGE,
        render.traffic_table(results.read("peers")["peers"]): render.PAGE,
    }

    for text, page in shown.items():
        assert text in page.read_text(encoding="utf-8")


def test_the_command_of_the_page_about_fleets_works():
    page = fleets.PAGE.read_text(encoding="utf-8")
    [command] = re.findall(r"-m bench (fleets .+)", page)

    printed = CliRunner().invoke(main, command.split()).output

    assert "| keys in use | 2,000 |" in printed


def test_a_run_is_added_replaces_none_and_is_published_only_if_it_is_whole(folders):
    for ours in (80.0, 60.0):
        results.write("peers", measured(ours), published=True)
        runs.record(Measurements(published=True), published=True)
    results.write("peers", measured(40.0), published=False)
    runs.record(Measurements(published=False), published=False)

    found = results.read("runs")["runs"]
    assert [each["ratios"] for each in found] == [
        {"one client": 0.8},
        {"one client": 0.6},
    ]
    assert [each["others_share"] for each in found] == [0.25, 0.25]
    assert len(results.read("runs", published=False)["runs"]) == 1


def test_counts_of_another_machine_are_not_shown_beside_measurements():
    nginx = {"title": "nginx", "family": "limit"}
    nginx["cases"] = {instructions.REPEATED: 11_036, instructions.RECONNECT: 13_809}
    counted = {"machine": MACHINE, "peers": {"nginx": nginx}}

    assert render.counts_for(MACHINE, counted) == {"nginx": "11,000"}
    assert render.counts_for(MACHINE | {"cpu": "Neoverse-N1"}, counted) == {}
    assert render.counts_for(MACHINE | {"python": "3.12.1"}, counted) == {}
