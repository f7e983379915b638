"""Write the published results into two pages, their plot and the README.

Only the text between two markers is replaced. A marker is a link definition, which no
Markdown renderer shows; HTML comments would appear as text in the cabinet.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from bench import goals, instructions, plots, results
from bench.errors import MeasurementError
from bench.goals import Measurements, Rounds
from bench.paths import ROOT
from bench.plots import Bar
from bench.results import spread
from bench.traffic import ANY_TEXT, KINDS

PAGE = ROOT / "docs" / "performance.md"
# What only engineers read.
DETAILS = ROOT / "bench" / "README.md"
README = ROOT / "README.md"
PICTURES = ROOT / "docs" / "pictures"
EFFICIENCY_PICTURE = PICTURES / "requests-per-cpu-second.svg"
EFFICIENCY_TITLE = "Requests per CPU-second of the server, one client, 50-byte text"
NO_RESULTS = "Not measured yet: `make bench` writes this part."
KEYS = {"checked": "checked", "present": "required, not checked", "ignored": "–"}

Peer = dict[str, Any]


def write_comparison() -> None:
    """Write the tables and the plot of the peers and the goals."""
    measured = results.read("peers")
    counted = results.read("instructions")
    peers = [*fastest_first(measured.get("peers", {})).values()]
    if peers:
        draw(peers)
    traffic = traffic_table(measured["peers"]) if peers else NO_RESULTS
    replace_section(PAGE, "traffic", traffic)
    parts = {
        "throughput": throughput(measured, peers, counted) if peers else NO_RESULTS,
        "goals": goal_table(),
        "instructions": counted_work(counted) if counted else NO_RESULTS,
        "environment": environment(measured) if peers else NO_RESULTS,
    }
    for part, text in parts.items():
        replace_section(DETAILS, part, text)
    replace_section(README, "summary", summary(measured) if peers else NO_RESULTS)


def replace_section(path: Path, part: str, text: str) -> None:
    """Replace the text between the markers of a part of a page."""
    begin = f"[//]: # (bench: {part})"
    end = "[//]: # (bench: end)"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    page = path.read_text(encoding="utf-8")
    written, count = pattern.subn(lambda _: f"{begin}\n\n{text}\n\n{end}", page)
    if count != 1:
        raise MeasurementError(f"{path.name} has no markers for the part {part}")
    path.write_text(written, encoding="utf-8")


def draw(peers: Sequence[Peer]) -> None:
    PICTURES.mkdir(exist_ok=True)
    rows = [
        Bar(
            peer["title"],
            efficiency(peer),
            rounded(efficiency(peer)),
            is_readback(peer),
        )
        for peer in peers
    ]
    EFFICIENCY_PICTURE.write_text(plots.bars(EFFICIENCY_TITLE, rows), encoding="utf-8")


def environment(measured: dict[str, Any]) -> str:
    machine = measured["machine"]
    method = measured["method"]
    versions = {
        each: peer["version"]
        for each, peer in measured["peers"].items()
        if "version" in peer
    }
    not_measured = [
        f"- {peer['title']} was not measured: {peer['not_measured']}."
        for peer in measured["peers"].values()
        if "not_measured" in peer
    ]
    others = median(
        row["others_share"]
        for peer in measured["peers"].values()
        for row in peer["rounds"]
    )
    lines = [
        f"On {measured['date'][:10]}, the machine had {machine['cores']} cores "
        f"({machine['cpu']}), {machine['memory_gib']} GiB of memory, "
        f"{machine['system']}, Linux {machine['kernel']} and Python "
        f"{machine['python']}{build(machine)}. In {method['rounds']} rounds of "
        f"{method['seconds']} s, each after a warm-up of {method['warm_up_seconds']} "
        f"s, other programs used {others:.2f} of a core.",
        "",
        f"Versions: {', '.join(map(' '.join, versions.items()))}.",
    ]
    return "\n".join(lines + ([""] + not_measured if not_measured else []))


def throughput(
    measured: dict[str, Any], peers: Sequence[Peer], counted: dict[str, Any]
) -> str:
    limit = efficiency(measured["peers"]["nginx"])
    counts = counts_for(measured["machine"], counted)
    rows = [
        [
            title(peer),
            KEYS[peer["key"]],
            rounded(efficiency(peer)),
            percentage(spread(row["per_cpu_second"] for row in peer["rounds"])),
            f"{efficiency(peer) / limit:.3g}",
            counts.get(peer["title"], "–"),
            rounded(median_of(peer, "rate")),
            f"{median_of(peer, 'cpu_seconds') / median_of(peer, 'seconds'):.2f}",
            milliseconds(median_of(peer, "p99")),
            f"{median_of(peer, 'memory_bytes') / 2**20:.0f} MiB",
            f"{median_of(peer, 'start_seconds'):.2f} s",
        ]
        for peer in peers
    ]
    heads = ["server", "key", "requests per CPU-second", "spread", "relative to nginx"]
    heads += ["instructions per request", "requests per second", "cores used", "p99"]
    heads += ["memory", "start to first response"]
    picture = f"![{EFFICIENCY_TITLE}](../docs/pictures/{EFFICIENCY_PICTURE.name})"
    parts = [table(heads, rows), picture]
    if not counts:
        parts.insert(1, "Instructions have not been counted on this machine.")
    return "\n\n".join(parts)


def counts_for(machine: dict[str, Any], counted: dict[str, Any]) -> dict[str, str]:
    """Return instructions per request by title, if they are of the same machine.

    They depend on the processor's architecture and on the build of Python.
    """
    found = counted.get("machine", {})
    if any(machine[each] != found.get(each) for each in ("cpu", "python")):
        return {}
    return {
        row["title"]: rounded(instructions.of_whole_server(row, counted["peers"]))
        for row in counted["peers"].values()
        if "cases" in row
    }


def counted_work(counted: dict[str, Any]) -> str:
    """Return the counts of all cases, the columns being the servers with several."""
    rows = counted["peers"].values()
    several = [row for row in rows if len(row.get("cases", {})) > 1]
    cases = [
        [name, *(counted_cell(row["cases"].get(name)) for row in several)]
        for name in instructions.IN_PROCESS
    ]
    others = [
        [title(row), rounded(instructions.of_whole_server(row, counted["peers"]))]
        for row in rows
        if "cases" in row
    ]
    reasons = [
        f"- {row['title']} was not counted: {row['not_counted']}."
        for row in rows
        if "not_counted" in row
    ]
    machine = counted["machine"]
    lines = [
        f"The instructions of {counted['method']['requests']} requests each were "
        f"counted on {counted['date'][:10]}, on {machine['cpu']} "
        f"({machine['architecture']}) with Python {machine['python']}{build(machine)}.",
        "",
        table(["request", *map(counted_title, several)], cases),
        "",
        table(["server", instructions.REPEATED], others),
    ]
    return "\n".join(lines + ([""] + reasons if reasons else []))


def counted_title(row: Peer) -> str:
    return f"{row['title']}, in process" if row.get("in_process") else row["title"]


def counted_cell(count: int | None) -> str:
    return "–" if count is None else rounded(count)


def build(machine: dict[str, Any]) -> str:
    """Return how Python was built, in brackets; nothing if it was not recorded."""
    found = machine.get("python_build")
    if not found:
        return ""
    words = {True: "with", False: "without", None: "perhaps with"}
    options = [f"{words[found[option]]} {option.upper()}" for option in ("pgo", "lto")]
    return f" ({', '.join([found['compiler'].strip(), *options])})"


def traffic_table(peers: dict[str, Peer]) -> str:
    """Return nginx and all that keep the contract, fastest first, one client."""
    found = Measurements(published=True)
    rows = [
        [title(peer), *(traffic_cell(found, name, kind) for kind in KINDS)]
        for name, peer in fastest_first(peers).items()
        if name == "nginx" or goals.keeps_contract(peer)
    ]
    return table(["server", *KINDS], rows)


def goal_table() -> str:
    rows = [
        [each.goal.description, each.goal.target, each.measured, each.verdict]
        for each in goals.verdicts(published=True)
    ]
    return table(["figure", "goal", "measured", "verdict"], rows)


def summary(measured: dict[str, Any]) -> str:
    """Return a sentence with the figures of all that keep the contract, and nginx."""
    found = Measurements(published=True)
    figures = {}
    for name, peer in measured["peers"].items():
        if name == "nginx" or goals.keeps_contract(peer):
            with suppress(MeasurementError):
                rounds = found.traffic(name, ANY_TEXT)
                figures[title(peer)] = goals.efficiency(rounds)
    ranked = sorted(figures, key=lambda name: -figures[name])
    shown = ", ".join(f"{name} {rounded(figures[name])}" for name in ranked)
    return (
        "Requests per CPU-second of one worker, with 1,000 clients and any text: "
        f"{shown} ({measured['machine']['cpu']}, {measured['date'][:10]})."
    )


def fastest_first(peers: dict[str, Peer]) -> dict[str, Peer]:
    """Return the peers that were measured, by their requests per CPU-second."""
    measured = [each for each in peers.items() if each[1]["rounds"]]
    return dict(sorted(measured, key=lambda each: -efficiency(each[1])))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["--:"] * (len(heads) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def median_of(peer: Peer, figure: str) -> float:
    """Return the median of a figure over the rounds."""
    return float(median(row[figure] for row in peer["rounds"]))


def efficiency(peer: Peer) -> float:
    return median_of(peer, "per_cpu_second")


def traffic_cell(found: Measurements, name: str, kind: str) -> str:
    """Return the efficiency of a peer with one kind of traffic, if it was measured."""
    try:
        return relative(found.traffic(name, kind), found.traffic("nginx", kind))
    except MeasurementError:
        return "–"


def relative(ours: Rounds, limit: Rounds) -> str:
    """Return requests per CPU-second, and in brackets the ratio to the limit's."""
    each = goals.efficiency(ours)
    highest = goals.efficiency(limit)
    return f"{rounded(each)} ({each / highest:.3g})"


def is_readback(peer: Peer) -> bool:
    return bool(peer["family"] == "readback")


def title(peer: Peer) -> str:
    return f"**{peer['title']}**" if is_readback(peer) else str(peer["title"])


def rounded(value: float) -> str:
    """Format a number with three significant digits."""
    return f"{float(f'{value:.3g}'):,.0f}"


def percentage(value: float) -> str:
    return f"{value * 100:.0f} %"


def milliseconds(microseconds: float) -> str:
    if microseconds >= 999_500:
        return f"{microseconds / 1e6:.3g} s"
    return f"{microseconds / 1000:.3g} ms"
