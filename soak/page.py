"""Save the results of a soak with a picture, and write them into bench/README.md."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import proc, render, results
from bench.paths import ROOT

from soak import clients, plot, texts
from soak.records import Sample, Scene
from soak.verdicts import Judgement

PAGE = ROOT / "bench" / "README.md"
PUBLISHED_PICTURE = render.PICTURES / "reliability.svg"
PICTURE_OF_TRIAL = results.TRIALS / "soak.svg"
# Enough to see what happened; a broken promise may have thousands.
_DETAILS_KEPT = 20
_POINTS = 300

Run = dict[str, Any]


def save(name: str, judgement: Judgement, scene: Scene, published: bool) -> None:
    """Save a run in place of the last one, and draw it."""
    verdicts = [asdict(verdict) for verdict in judgement.verdicts]
    for verdict in verdicts:
        verdict["details"] = verdict["details"][:_DETAILS_KEPT]
    run = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": proc.describe_machine(),
        "database": name,
        "clients": clients.CLIENTS,
        "keys": clients.KEYS,
        "figures": judgement.figures,
        "verdicts": verdicts,
        "timeline": _timeline(scene),
    }
    results.write("soak", run, published)
    _draw(run, PUBLISHED_PICTURE if published else PICTURE_OF_TRIAL)


def write() -> None:
    """Write the generated parts of the page, and the published picture."""
    run = results.read("soak")
    _draw(run, PUBLISHED_PICTURE)
    render.replace_section(PAGE, "soak-verdicts", _verdicts(run))
    render.replace_section(PAGE, "soak-figures", _figures(run))


def _draw(run: Run, path: Path) -> None:
    title = f"A soak on {run['database']}"
    picture = plot.draw(title, run["timeline"], run["figures"])
    path.write_text(picture, encoding="utf-8")


def _verdicts(run: Run) -> str:
    machine = run["machine"]
    figures = run["figures"]
    broken = sum(verdict["kept"] is False for verdict in run["verdicts"])
    kept = f"{broken} promises were broken." if broken else "No promise was broken."
    rows = [
        [verdict["promise"], verdict["measured"], _word(verdict["kept"])]
        for verdict in run["verdicts"]
    ]
    return "\n\n".join(
        [
            f"**{kept}** The soak took {figures['seconds'] / 60:.1f} minutes on "
            f"{run['database']} on {run['date'][:10]}, with {figures['answers']:,} "
            f"answers to {run['clients']} clients, {figures['reloads']} reloads, "
            f"{figures['kills']} killed workers and {figures['outages']} outages of "
            f"the database. The machine was a {machine['cpu']} with {machine['cores']} "
            f"cores, Linux {machine['kernel']} and Python {machine['python']}.",
            render.table(["promise", "measured", "verdict"], rows),
            "![Answers per second, and the private memory of every worker]"
            f"(../docs/pictures/{PUBLISHED_PICTURE.name})",
        ]
    )


def _figures(run: Run) -> str:
    figures = run["figures"]
    latency = figures["latency_ms"]
    slope = figures["slope_kib_per_minute"]
    times = figures["code_points"] / texts.CODE_POINTS
    closest = figures["created_closest"]
    behind, ahead = figures["created_leads"]
    rows = {
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
    return render.table(["figure", "measured"], map(list, rows.items()))


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
        "workers": _memory_by_worker(chosen[1:], scene.started),
        "reloads": [since(each.at) for each in scene.reloads],
        "kills": [since(each.at) for each in scene.kills],
        "outages": [
            (since(each.start), since(each.end), each.kind) for each in scene.outages
        ],
    }


def _memory_by_worker(samples: list[Sample], started: float) -> list[dict[str, Any]]:
    """Return when each worker was seen, and its private memory at those times."""
    found: dict[int, dict[str, Any]] = {}
    for sample in samples:
        for pid, size in sample.workers.items():
            worker = found.setdefault(pid, {"at": [], "mib": []})
            worker["at"].append(round(sample.at - started, 1))
            worker["mib"].append(round(size / 2**20, 1))
    return list(found.values())


def _time(milliseconds: float) -> str:
    return render.milliseconds(1000 * milliseconds)


def _word(kept: bool | None) -> str:
    return {True: "kept", False: "**broken**", None: "not judged"}[kept]
