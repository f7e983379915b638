"""The pages of the benchmark show what was measured, and keep earlier runs."""

import re

import pytest
from bench import fleets, goals, render, results, runs
from bench.__main__ import main
from bench.traffic import ANY_TEXT
from click.testing import CliRunner


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
        runs.table(results.read("runs")["runs"]): render.DETAILS,
        render.counted_work(results.read("instructions")): render.DETAILS,
        render.traffic_table(results.read("peers")["peers"]): render.PAGE,
    }

    for text, page in shown.items():
        assert text in page.read_text(encoding="utf-8")


def test_the_command_of_the_page_about_fleets_works():
    page = fleets.PAGE.read_text(encoding="utf-8")
    [command] = re.findall(r"-m bench (fleets .+)", page)

    printed = CliRunner().invoke(main, command.split()).output

    assert "| keys in use | 2,000 |" in printed


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
