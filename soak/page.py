"""Save the results of a soak, and write them into bench/README.md and its plots."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from bench import proc, render, results
from bench.paths import ROOT
from bench.single_worker import POSTGRESQL, SQLITE

from soak import clients, plot, texts
from soak.records import Scene
from soak.verdicts import Judgement

PAGE = ROOT / "bench" / "README.md"
PICTURES = {
    POSTGRESQL: render.PICTURES / "reliability.svg",
    SQLITE: render.PICTURES / "reliability-sqlite.svg",
}
NO_RESULTS = "Not run yet: `make soak` writes this part."
# Enough to see what happened; a broken promise may have thousands.
_DETAILS_KEPT = 20
_POINTS = 150

Run = dict[str, Any]


def save(name: str, judgement: Judgement, scene: Scene, published: bool) -> None:
    """Add a run to the results, in place of the last one on the same database."""
    verdicts = [asdict(verdict) for verdict in judgement.verdicts]
    for verdict in verdicts:
        verdict["details"] = verdict["details"][:_DETAILS_KEPT]
    run = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": proc.describe_machine(),
        "clients": clients.CLIENTS,
        "keys": clients.KEYS,
        "figures": judgement.figures,
        "verdicts": verdicts,
        "timeline": _timeline(scene),
    }
    results.write("soak", results.read("soak", published) | {name: run}, published)


def write() -> None:
    """Write the generated parts of the page, and the plots."""
    runs: dict[str, Run] = results.read("soak")
    for name, run in runs.items():
        picture = plot.draw(f"A soak on {name}", run["timeline"], run["figures"])
        PICTURES[name].write_text(picture, encoding="utf-8")
    verdicts = "\n\n".join(_verdicts(name, run) for name, run in runs.items())
    figures = _figures(runs) if runs else NO_RESULTS
    render.replace_section(PAGE, "soak-verdicts", verdicts or NO_RESULTS)
    render.replace_section(PAGE, "soak-figures", figures)


def _verdicts(name: str, run: Run) -> str:
    machine = run["machine"]
    figures = run["figures"]
    broken = sum(verdict["kept"] is False for verdict in run["verdicts"])
    kept = f"{broken} promises were broken." if broken else "No promise was broken."
    rows = [
        [verdict["promise"], verdict["measured"], _word(verdict["kept"])]
        for verdict in run["verdicts"]
    ]
    picture = PICTURES[name]
    return "\n\n".join(
        [
            f"### On {name}",
            f"**{kept}** The soak took {figures['seconds'] / 60:.1f} minutes on "
            f"{run['date'][:10]}, with {figures['answers']:,} answers to "
            f"{run['clients']} clients, {figures['reloads']} reloads, "
            f"{figures['kills']} killed workers and {figures['outages']} outages of "
            f"the database. The machine was a {machine['cpu']} with {machine['cores']} "
            f"cores, Linux {machine['kernel']} and Python {machine['python']}.",
            render.table(["promise", "measured", "verdict"], rows),
            f"![Answers per second and memory over time, on {name}]"
            f"(../docs/pictures/{picture.name})",
        ]
    )


def _figures(runs: dict[str, Run]) -> str:
    found = {name: _figures_of(run) for name, run in runs.items()}
    labels = next(iter(found.values()))
    rows = [[label, *(each[label] for each in found.values())] for label in labels]
    return render.table(["figure", *found], rows)


def _figures_of(run: Run) -> dict[str, str]:
    figures = run["figures"]
    latency = figures["latency_ms"]
    slope = figures["slope_kib_per_minute"]
    times = figures["code_points"] / texts.CODE_POINTS
    closest = figures["created_closest"]
    behind, ahead = figures["created_leads"]
    return {
        "answers": f"{figures['answers']:,}",
        "echoes among them": f"{figures['echoes']:,}",
        "refusals among them, all expected": f"{figures['refusals']:,}",
        "connections": f"{figures['connections']:,}",
        "how often all of Unicode was echoed": f"{times:.1f} times",
        "requests lost outside of kills": f"{figures['lost']:,}, "
        f"{figures['lost_on_long_path']:,} of them on the long path",
        "requests lost by kills": f"{figures['lost_by_kills']:,}",
        "median latency without the long path": _time(latency["p50"]),
        "99th percentile": _time(latency["p99"]),
        "longest": _time(latency["max"]),
        "fewest responses between two equal `created` of a key": f"{closest:,}"
        if closest
        else "none were equal",
        "`created` ahead of the clock": f"{behind:.0f} s to {ahead:.0f} s",
        "memory growth of a worker": "too short to tell"
        if slope is None
        else f"{slope:+g} KiB a minute",
    }


def _timeline(scene: Scene) -> dict[str, Any]:
    """Return what the plot needs, in seconds since the start."""

    def since(at: float) -> float:
        return round(at - scene.started, 1)

    samples = scene.samples
    step = len(samples) // _POINTS + 1
    chosen = samples[::step]
    rates = [
        round((later.answered - earlier.answered) / (later.at - earlier.at), 1)
        for earlier, later in zip(chosen, chosen[1:], strict=False)
    ]
    return {
        "seconds": since(scene.ended),
        "at": [since(each.at) for each in chosen[1:]],
        "answers_per_second": rates,
        "worker_mib": [
            round(max(each.workers, default=0) / 2**20, 1) for each in chosen[1:]
        ],
        "reloads": [since(each.at) for each in scene.reloads],
        "kills": [since(each.at) for each in scene.kills],
        "outages": [
            (since(each.start), since(each.end), each.kind) for each in scene.outages
        ],
    }


def _time(milliseconds: float) -> str:
    return render.milliseconds(1000 * milliseconds)


def _word(kept: bool | None) -> str:
    return {True: "kept", False: "**broken**", None: "not judged"}[kept]
