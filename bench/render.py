"""`python -m bench.render`: write the kept results into the pages.

Replaces what stands between two markers and nothing else. A marker is a link
definition that no renderer shows, because the cabinet shows HTML comments as text.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench import goals, plots, results
from bench.plots import Bar, Span
from bench.results import middle, spread
from bench.roster import ROOT

PAGE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
PICTURES = ROOT / "docs" / "pictures"
EFFICIENCY_PICTURE = PICTURES / "requests-per-cpu-second.svg"
LATENCY_PICTURE = PICTURES / "latency.svg"
# Enough for the README: the limit, ours, and the best known of each family.
IN_SHORT = ("nginx", "readback", "go", "granian", "fastapi", "aimock", "litellm")
EFFICIENCY_TITLE = "Requests per CPU-second of the server, 50-byte text"
LATENCY_TITLE = "Latency with 32 connections: median, 99 %, 99.9 %"
NOTHING = "Not measured yet: `make bench` writes this part."
PERCENTILES = ("p50", "p99", "p999")
KEYS = {"checked": "checked", "present": "must be there", "ignored": "–"}

Peer = dict[str, Any]


def main() -> None:
    measured = results.read("peers")
    peers = [peer for peer in measured.get("peers", {}).values() if peer["turns"]]
    peers.sort(key=efficiency, reverse=True)
    if peers:
        draw(peers)
    put(PAGE, "setting", setting(measured) if peers else NOTHING)
    put(PAGE, "throughput", throughput(measured, peers) if peers else NOTHING)
    put(PAGE, "latency", latency(measured, peers) if peers else NOTHING)
    put(PAGE, "goals", goal_table())
    put(README, "summary", summary(measured, peers) if peers else NOTHING)


def put(path: Path, part: str, text: str) -> None:
    """Write a part of a page between its markers."""
    begin, end = f"[//]: # (bench: {part})", "[//]: # (bench: end)"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    page = path.read_text(encoding="utf-8")
    written, count = pattern.subn(lambda _: f"{begin}\n\n{text}\n\n{end}", page)
    if count != 1:
        raise SystemExit(f"{path.name} has no place for {part}")
    path.write_text(written, encoding="utf-8")


def draw(peers: Sequence[Peer]) -> None:
    PICTURES.mkdir(exist_ok=True)
    rows = [
        Bar(peer["title"], efficiency(peer), thousands(efficiency(peer)), own(peer))
        for peer in peers
    ]
    EFFICIENCY_PICTURE.write_text(plots.bars(EFFICIENCY_TITLE, rows), encoding="utf-8")
    ranges = [
        Span(peer["title"], [of(peer, name) for name in PERCENTILES], own(peer))
        for peer in peers
    ]
    LATENCY_PICTURE.write_text(plots.spans(LATENCY_TITLE, ranges), encoding="utf-8")


def setting(measured: dict[str, Any]) -> str:
    machine, method = measured["machine"], measured["method"]
    versions = ", ".join(
        f"{each} {peer['version']}"
        for each, peer in measured["peers"].items()
        if "version" in peer
    )
    absent = [
        f"- {peer['title']} is absent: {peer['absent']}."
        for peer in measured["peers"].values()
        if "absent" in peer
    ]
    others = middle(
        turn["others_share"]
        for peer in measured["peers"].values()
        for turn in peer["turns"]
    )
    lines = [
        f"Measured on {measured['date'][:10]}: {machine['cpu']}, {machine['cores']} "
        f"cores, {machine['memory_gib']} GiB, {machine['system']}, Linux "
        f"{machine['kernel']}, Python {machine['python']}; {method['rounds']} rounds "
        f"of {method['seconds']} s, each after {method['warm_seconds']} s of warming "
        f"up. Other programs used {others:.2f} of a core meanwhile.",
        "",
        f"Versions: {versions}.",
    ]
    return "\n".join(lines + ([""] + absent if absent else []))


def throughput(measured: dict[str, Any], peers: Sequence[Peer]) -> str:
    limit = efficiency(measured["peers"]["nginx"])
    rows = [
        [
            name(peer),
            KEYS[peer["key"]],
            thousands(efficiency(peer)),
            percent(spread(turn["per_cpu_second"] for turn in peer["turns"])),
            f"{efficiency(peer) / limit:.3g}",
            thousands(of(peer, "rate")),
            f"{of(peer, 'cpu_seconds') / of(peer, 'seconds'):.2f}",
            f"{of(peer, 'memory_bytes') / 2**20:.0f} MiB",
            f"{of(peer, 'start_seconds'):.2f} s",
        ]
        for peer in peers
    ]
    heads = ["server", "key", "requests per CPU-second", "spread", "of nginx"]
    heads += ["requests per second", "cores used", "memory", "start to first answer"]
    picture = f"![{EFFICIENCY_TITLE}](pictures/{EFFICIENCY_PICTURE.name})"
    return f"{table(heads, rows)}\n\n{picture}"


def latency(measured: dict[str, Any], peers: Sequence[Peer]) -> str:
    rate = measured["method"].get("fixed_rate", 0)
    rows = [
        [
            name(peer),
            *(milliseconds(of(peer, each)) for each in PERCENTILES),
            *steady_cells(peer),
        ]
        for peer in peers
    ]
    fixed = f"at {rate:,.0f} a second"
    heads = ["server", "p50", "p99", "p99.9"]
    heads += [f"p50 {fixed}", f"p99 {fixed}", f"p99.9 {fixed}"]
    picture = f"![{LATENCY_TITLE}](pictures/{LATENCY_PICTURE.name})"
    return f"{table(heads, rows)}\n\n{picture}"


def steady_cells(peer: Peer) -> list[str]:
    found = [turn["steady"] for turn in peer["turns"] if turn["steady"]]
    if len(found) < len(peer["turns"]):
        return ["too slow", "–", "–"]
    return [milliseconds(middle(one[each] for one in found)) for each in PERCENTILES]


def goal_table() -> str:
    rows = [
        [verdict.goal.what, verdict.goal.wanted, verdict.measured, verdict.word]
        for verdict in goals.verdicts(kept=True)
    ]
    return table(["what", "goal", "measured", "verdict"], rows)


def summary(measured: dict[str, Any], peers: Sequence[Peer]) -> str:
    chosen = [measured["peers"].get(each, {}) for each in IN_SHORT]
    shown = [peer for peer in peers if peer in chosen]
    limit = efficiency(measured["peers"]["nginx"])
    rows = [
        [
            name(peer),
            thousands(efficiency(peer)),
            f"{efficiency(peer) / limit:.3g}",
            milliseconds(of(peer, "p99")),
        ]
        for peer in shown
    ]
    heads = ["server", "requests per CPU-second", "of nginx", "p99, 32 connections"]
    picture = f"![{EFFICIENCY_TITLE}](docs/pictures/{EFFICIENCY_PICTURE.name})"
    machine = measured["machine"]
    when = f"{measured['date'][:10]}, {machine['cpu']}, one worker each, 50-byte text."
    return f"{picture}\n\n{table(heads, rows)}\n\n{when}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["--:"] * (len(heads) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def of(peer: Peer, figure: str) -> float:
    return middle(turn[figure] for turn in peer["turns"])


def efficiency(peer: Peer) -> float:
    return of(peer, "per_cpu_second")


def own(peer: Peer) -> bool:
    return bool(peer["family"] == "readback")


def name(peer: Peer) -> str:
    return f"**{peer['title']}**" if own(peer) else str(peer["title"])


def thousands(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.0f}"


def percent(value: float) -> str:
    return f"{value * 100:.0f} %"


def milliseconds(microseconds: float) -> str:
    if microseconds >= 999_500:
        return f"{microseconds / 1e6:.3g} s"
    return f"{microseconds / 1000:.3g} ms"


if __name__ == "__main__":
    main()
