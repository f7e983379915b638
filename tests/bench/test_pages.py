"""The benchmark's pages show the published results and the verdicts."""

import pytest
from bench import goals, render, results
from bench.traffic import ANY_TEXT


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Keep published and trial results in the test's own folders."""
    monkeypatch.setattr(results, "PUBLISHED", tmp_path / "published")
    monkeypatch.setattr(results, "TRIALS", tmp_path / "trials")
    return tmp_path


def test_the_pages_show_the_published_results():
    shown = {
        render.kept_rules(results.read("rules")): render.DETAILS,
        render.kept_rules_in_short(results.read("rules")): render.PAGE,
        render.counted_work(results.read("instructions")): render.DETAILS,
        render.traffic_table(results.read("peers")["peers"]): render.PAGE,
    }

    for text, page in shown.items():
        assert text in page.read_text(encoding="utf-8")


def with_any_text(rate: float) -> dict[str, object]:
    """Return a server's results, measured with one kind of traffic."""
    rounds = [{"per_cpu_second": rate}]
    traffic = {ANY_TEXT: rounds}
    server = {"title": "A server", "family": "framework"}
    return server | {"rounds": rounds, "traffic": traffic}


@pytest.mark.parametrize(("fastest", "verdict"), [(40.0, "met"), (60.0, "not met")])
def test_readback_must_be_ahead_of_the_fastest_peer(folders, fastest, verdict):
    rates = {"nginx": 100.0, "readback": 50.0, "slow": 10.0, "fast": fastest}
    peers = {name: with_any_text(rate) for name, rate in rates.items()}
    peers["nginx"]["family"] = "limit"
    results.write("peers", {"peers": peers}, published=True)

    of_nginx, of_peers, *_ = goals.verdicts(published=True)

    assert (of_nginx.measured, of_nginx.verdict) == ("0.5", "met")
    assert (of_peers.measured, of_peers.verdict) == (f"{50 / fastest:.3g} ×", verdict)
