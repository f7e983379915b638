"""The tables of the kinds of traffic in docs/performance.md."""

from typing import Any

from bench import render, results
from bench.comparison import LIMIT
from bench.errors import MeasurementError
from bench.goals import Measurements
from bench.scenarios import HANDSHAKES, TLS_SERVERS
from bench.traffic import KINDS

NO_TLS = 'Not measured yet: `make bench ARGS="--only tls"` writes this part.'


def write_sections() -> None:
    found = Measurements(published=True)
    peers = results.read("peers").get("peers", {})
    text = table(found, peers) if peers else render.NO_RESULTS
    render.replace_section(render.PAGE, "traffic", text)
    render.replace_section(render.PAGE, "tls", tls_table(found))


def table(found: Measurements, peers: dict[str, Any]) -> str:
    """Return nginx and all that keep the contract, the fastest with one key first."""
    equal = {
        name: peer
        for name, peer in peers.items()
        if peer["rounds"] and (name == LIMIT or render.keeps_contract(peer))
    }
    rows = [
        [
            render.title(peer),
            *(render.traffic_cell(found, name, kind) for kind in KINDS),
        ]
        for name, peer in sorted(
            equal.items(), key=lambda each: render.efficiency(each[1]), reverse=True
        )
    ]
    return render.table(["server", *KINDS], rows)


def tls_table(found: Measurements) -> str:
    try:
        figures = found.scenario("tls")
    except MeasurementError:
        return NO_TLS
    rows = []
    for name, title in TLS_SERVERS.items():
        if reason := figures.get(f"{name}_not_measured"):
            rows.append([title, f"not measured: {reason}", "–"])
            continue
        measured = [
            (figures[f"{name}_{kind}"], figures[f"{LIMIT}_{kind}"])
            for kind in HANDSHAKES
        ]
        rows.append([title, *(render.relative(*each) for each in measured)])
    return render.table(["server", *HANDSHAKES.values()], rows)
