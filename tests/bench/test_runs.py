"""Runs are added side by side, and docs/performance.md shows them all."""

import shutil

import pytest
from bench import render, results, runs
from bench.__main__ import write_comparison
from bench.goals import Measurements

LOAD = {"per_cpu_second": 100.0, "others_share": 0.25}
XEON = {"cpu": "Xeon", "python": "3.11.7"}


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Keep published and trial results in folders of this test."""
    monkeypatch.setattr(results, "PUBLISHED", tmp_path / "published")
    monkeypatch.setattr(results, "TRIALS", tmp_path / "trials")
    return tmp_path


def rounds(*efficiencies: float) -> list[dict[str, float]]:
    return [LOAD | {"per_cpu_second": each} for each in efficiencies]


def measured(ours: float) -> dict[str, object]:
    """Return results of the peers in which nginx reaches 100."""
    peers = {"nginx": rounds(100), "readback": rounds(ours)}
    return {
        "peers": {
            name: {"family": "limit", "rounds": each} for name, each in peers.items()
        }
    }


def run(cpu: str, **ratios: float) -> runs.Run:
    names = {"short": "one client", "pipelined": "pipelined"}
    return {
        "date": "2026-11-16T10:00:00+00:00",
        "commit": "abc1234",
        "machine": XEON | {"cpu": cpu},
        "others_share": 0.0,
        "ratios": {names[each]: value for each, value in ratios.items()},
    }


def test_a_run_is_added_and_replaces_none(folders):
    for ours in (80.0, 60.0):
        results.write("peers", measured(ours), published=True)
        runs.record(Measurements(published=True), published=True)

    found = results.read("runs")["runs"]
    assert [each["ratios"] for each in found] == [
        {"one client": 0.8},
        {"one client": 0.6},
    ]
    assert [each["others_share"] for each in found] == [0.25, 0.25]
    assert found[0]["machine"]["python_build"].keys() == {"compiler", "pgo", "lto"}


def test_a_quick_run_is_not_published(folders):
    results.write("peers", measured(80.0), published=False)

    runs.record(Measurements(published=False), published=False)

    assert results.read("runs") == {}
    assert len(results.read("runs", published=False)["runs"]) == 1


def test_the_page_is_written_from_whatever_results_exist(folders, monkeypatch):
    for name in ("PAGE", "README"):
        copy = folders / getattr(render, name).name
        shutil.copy(getattr(render, name), copy)
        monkeypatch.setattr(render, name, copy)

    write_comparison()
    without = render.PAGE.read_text(encoding="utf-8")
    results.write("runs", {"runs": [run("Xeon", short=0.8)]}, published=True)
    write_comparison()

    parts = ("environment", "throughput", "instructions", "runs")
    for part in parts:
        assert f"[//]: # (bench: {part})\n\n{render.NO_RESULTS}" in without
    page = render.PAGE.read_text(encoding="utf-8")
    assert "| Xeon, Python 3.11.7 |" in page


def test_the_page_shows_the_published_runs():
    published = results.read("runs")["runs"]

    page = render.PAGE.read_text(encoding="utf-8")
    assert runs.table(published) in page
