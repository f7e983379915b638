"""The pages of the benchmark show what was measured, and keep earlier runs."""

import re

import pytest
from bench import fleets, goals, instructions, render, results, runs
from bench.__main__ import main
from bench.goals import Measurements
from bench.traffic import ANY_TEXT, REQUEST_IDS
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


def with_any_text(rate: float) -> dict[str, object]:
    """Return a server that keeps the contract, measured with one kind of traffic."""
    rounds = [{"per_cpu_second": rate}]
    traffic = {ANY_TEXT: rounds}
    server = {"title": "A server", "family": "framework", "key": "checked"}
    return server | {"echoes": True, "rounds": rounds, "traffic": traffic}


@pytest.mark.parametrize(("fastest", "verdict"), [(40.0, "met"), (60.0, "not met")])
def test_readback_must_be_ahead_of_the_fastest_peer(folders, fastest, verdict):
    rates = {"nginx": 100.0, "readback": 50.0, "slow": 10.0, "fast": fastest}
    peers = {name: with_any_text(rate) for name, rate in rates.items()}
    peers["nginx"]["key"] = "ignored"
    results.write("peers", {"peers": peers}, published=True)

    of_nginx, of_peers, *_ = goals.verdicts(published=True)

    assert (of_nginx.measured, of_nginx.verdict) == ("0.5", "met")
    assert (of_peers.measured, of_peers.verdict) == (f"{50 / fastest:.3g} ×", verdict)


def test_a_peer_that_was_not_measured_is_not_taken_for_slower(folders):
    peers = {name: with_any_text(50.0) for name in ("nginx", "readback", "slow")}
    failed = {"rounds": [], "traffic": {}, "not_measured": "go build failed"}
    peers["fast"] = with_any_text(0) | failed
    results.write("peers", {"peers": peers}, published=True)

    _, of_peers, *_ = goals.verdicts(published=True)

    assert of_peers.verdict == "not measured: go build failed"


def test_results_without_a_kind_of_traffic_are_shown_as_not_measured(folders):
    peers = {name: with_any_text(50.0) for name in ("nginx", "readback")}
    results.write("peers", {"peers": peers}, published=True)

    found = {each.goal.description: each for each in goals.verdicts(published=True)}

    assert "| 50 (1) | – | – |" in render.traffic_table(peers)
    missing = found[f"{REQUEST_IDS}, relative to nginx"]
    assert missing.verdict.startswith("not measured: ")
    assert missing.verdict in render.goal_table()


def test_counts_of_another_machine_are_not_shown_beside_measurements():
    nginx = {"title": "nginx", "family": "limit"}
    nginx["cases"] = {instructions.REPEATED: 11_036, instructions.RECONNECT: 13_809}
    counted = {"machine": MACHINE, "peers": {"nginx": nginx}}

    assert render.counts_for(MACHINE, counted) == {"nginx": "11,000"}
    assert render.counts_for(MACHINE | {"cpu": "Neoverse-N1"}, counted) == {}
    assert render.counts_for(MACHINE | {"python": "3.12.1"}, counted) == {}
