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

from bench import goals, latency, plots, results, rules
from bench.errors import MeasurementError
from bench.goals import Measurements, Rounds
from bench.paths import ROOT
from bench.peer import LIMIT
from bench.plots import Bar
from bench.results import spread
from bench.traffic import ANY_TEXT, KINDS

PAGE = ROOT / "docs" / "performance.md"
# The page for engineers.
DETAILS = ROOT / "bench" / "README.md"
README = ROOT / "README.md"
PICTURES = ROOT / "docs" / "pictures"
EFFICIENCY_PICTURE = PICTURES / "requests-per-cpu-second.svg"
EFFICIENCY_TITLE = "Requests per CPU-second of the server, one client, 50-byte text"
NO_RESULTS = "Not measured yet: `make bench` writes this part."
LATENCY_HEADS = [
    f"{traffic.removesuffix(', any text')}, {share} %"
    for traffic in latency.CONNECTIONS
    for share in latency.SHARES
]

Peer = dict[str, Any]


def write_comparison() -> None:
    """Write the tables and the plot of the peers and the goals."""
    measured = results.read("peers")
    counted = results.read("instructions")
    checked = results.read("rules")
    steady = results.read("latency")
    if measured:
        peers = [*fastest_first(measured["peers"]).values()]
        draw(peers)
        replace_section(PAGE, "traffic", traffic_table(measured["peers"]))
        replace_section(DETAILS, "throughput", throughput(measured, peers))
        replace_section(DETAILS, "environment", environment(measured))
        replace_section(README, "summary", summary(measured, steady, checked))
    if checked:
        replace_section(PAGE, "rules", kept_rules_in_short(checked))
        replace_section(DETAILS, "rules", kept_rules(checked))
    if steady:
        replace_section(DETAILS, "latency", latency_table(steady))
    if counted:
        replace_section(DETAILS, "instructions", counted_work(counted))
    replace_section(DETAILS, "goals", goal_table())


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


def throughput(measured: dict[str, Any], peers: Sequence[Peer]) -> str:
    limit = efficiency(measured["peers"]["nginx"])
    rows = [
        [
            title(peer),
            rounded(efficiency(peer)),
            percentage(spread(row["per_cpu_second"] for row in peer["rounds"])),
            f"{efficiency(peer) / limit:.3g}",
            rounded(median_of(peer, "rate")),
            f"{median_of(peer, 'cpu_seconds') / median_of(peer, 'seconds'):.2f}",
            milliseconds(median_of(peer, "p99")),
            f"{median_of(peer, 'memory_bytes') / 2**20:.0f} MiB",
            f"{median_of(peer, 'start_seconds'):.2f} s",
        ]
        for peer in peers
    ]
    heads = ["server", "requests per CPU-second", "spread", "relative to nginx"]
    heads += ["requests per second", "cores used", "p99", "memory"]
    heads += ["start to first response"]
    picture = f"![{EFFICIENCY_TITLE}](../docs/pictures/{EFFICIENCY_PICTURE.name})"
    return "\n\n".join([table(heads, rows), picture])


def counted_work(counted: dict[str, Any]) -> str:
    machine = counted["machine"]
    return "\n\n".join(
        [
            f"The instructions of {counted['method']['requests']:,} requests each were "
            f"counted on {counted['date'][:10]}, on {machine['cpu']} "
            f"({machine['architecture']}) with Python {machine['python']}"
            f"{build(machine)}.",
            table(
                ["request", "instructions of Readback"],
                [[name, rounded(count)] for name, count in counted["cases"].items()],
            ),
        ]
    )


def kept_rules(checked: dict[str, Any]) -> str:
    """Return the rules that each peer misses, with some of the cases."""
    lines = []
    for row in checked["peers"].values():
        lines.append(f"- {title(row)} {rules.summary(row)} cases.")
        lines += [f"  - {line}" for line in rules.missed_rules(row)]
    return "\n".join(lines)


def kept_rules_in_short(checked: dict[str, Any]) -> str:
    """Return one sentence about the results of all peers."""
    found = [f"{title(row)} {rules.summary(row)}" for row in checked["peers"].values()]
    return f"Cases of the conformance tests: {'; '.join(found)}."


def latency_table(steady: dict[str, Any]) -> str:
    """Return a table of medians: a row for each server, kind of traffic and rate."""
    rows = [
        [
            title(peer),
            case["traffic"],
            # nginx gets as many requests as Readback.
            "as Readback" if peer["family"] == LIMIT else f"{case['share']} %",
            rounded(case["rate"]),
            *(milliseconds(case[figure]) for figure in ("p50", "p99")),
        ]
        for peer in steady["peers"].values()
        for case in latencies(peer)
    ]
    heads = ["server", "traffic", "load", "requests per second", "p50", "p99"]
    return table(heads, rows)


def latencies(peer: Peer) -> list[dict[str, Any]]:
    """Return the cases of a peer with the medians of their figures."""
    return [
        of_case[0]
        | {
            figure: median(case[figure] for case in of_case)
            for figure in ("rate", "p50", "p99")
        }
        for of_case in zip(*peer["rounds"], strict=True)
    ]


def build(machine: dict[str, Any]) -> str:
    """Return how Python was built, in brackets; empty if it was not recorded."""
    found = machine.get("python_build")
    if not found:
        return ""
    words = {True: "with", False: "without", None: "perhaps with"}
    options = [f"{words[found[option]]} {option.upper()}" for option in ("pgo", "lto")]
    return f" ({', '.join([found['compiler'].strip(), *options])})"


def traffic_table(peers: dict[str, Peer]) -> str:
    """Return a table of all servers; the fastest with one client comes first."""
    found = Measurements(published=True)
    rows = [
        [title(peer), *(traffic_cell(found, name, kind) for kind in KINDS)]
        for name, peer in fastest_first(peers).items()
    ]
    return table(["server", *KINDS], rows)


def goal_table() -> str:
    rows = [
        [each.goal.description, each.goal.target, each.measured, each.verdict]
        for each in goals.verdicts(published=True)
    ]
    return table(["figure", "goal", "measured", "verdict"], rows)


def summary(
    measured: dict[str, Any], steady: dict[str, Any], checked: dict[str, Any]
) -> str:
    """Return a table of the servers that check requests, and a sentence on nginx."""
    found = Measurements(published=True)
    rows = []
    for name, peer in fastest_first(measured["peers"]).items():
        if peer["family"] == LIMIT:
            continue
        with suppress(MeasurementError):
            each = goals.efficiency(found.traffic(name, ANY_TEXT))
            cases = latencies(steady.get("peers", {}).get(name, {"rounds": []}))
            shown = [*map(latency_cell, cases)] or ["–"] * len(LATENCY_HEADS)
            misses = rules.summary(checked["peers"][name])
            rows.append([title(peer), rounded(each), *shown, misses])
    limit = rounded(goals.efficiency(found.traffic("nginx", ANY_TEXT)))
    heads = ["server", "requests per CPU-second", *LATENCY_HEADS, "conformance"]
    return "\n\n".join(
        [
            table(heads, rows),
            f"One worker on {measured['machine']['cpu']}, {measured['date'][:10]}. "
            f"nginx sends {limit} constants in a CPU-second.",
        ]
    )


def latency_cell(case: dict[str, Any]) -> str:
    return f"{milliseconds(case['p50'])} / {milliseconds(case['p99'])}"


def fastest_first(peers: dict[str, Peer]) -> dict[str, Peer]:
    """Return the measured peers, most requests per CPU-second first."""
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
    """Return requests per CPU-second and, in brackets, their ratio to the limit."""
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
