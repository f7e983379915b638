"""The ratios of every run, kept side by side: how much a ratio varies between runs.

A full run replaces the other results, but only adds a row here.
"""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median
from typing import Any

from bench import goals, proc, render, results, traffic
from bench.errors import MeasurementError
from bench.goals import Measurements
from bench.paths import ROOT

Run = dict[str, Any]
RATIOS: dict[str, Callable[[Measurements], float]] = {
    "any text": goals.relative_to_nginx(traffic.ANY_TEXT),
    "any address": goals.relative_to_nginx(traffic.ANY_ADDRESS),
    "request ids": goals.relative_to_nginx(traffic.REQUEST_IDS),
    "1,000 clients": goals.relative_to_nginx(traffic.MANY_CLIENTS),
    "one client": goals.relative_to_nginx(traffic.ONE_KEY),
    "new connections": goals.relative_to_nginx(traffic.NEW_CONNECTIONS),
    "8192 bytes of ASCII": goals.longest_relative_to_nginx("ascii"),
    "8192 bytes of Cyrillic": goals.longest_relative_to_nginx("cyrillic"),
}


def record(found: Measurements, published: bool) -> Run:
    """Add the ratios of a run that has just ended; return its row."""
    run = _run(found)
    runs = results.read("runs", published).get("runs", [])
    results.write("runs", {"runs": [*runs, run]}, published)
    return run


def _run(found: Measurements) -> Run:
    ratios = {}
    for name, ratio in RATIOS.items():
        try:
            ratios[name] = ratio(found)
        except MeasurementError:
            continue  # the table shows a dash
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": proc.describe_machine(),
        "others_share": _others_share(found),
        "ratios": ratios,
    }


def _others_share(found: Measurements) -> float | None:
    try:
        rounds = found.peer("nginx") + found.peer("readback")
    except MeasurementError:
        return None
    return float(median(row["others_share"] for row in rounds))


def _commit() -> str:
    """Return the commit that was measured, if this is a clone."""
    commit = _git("rev-parse", "--short", "HEAD")
    # The results of this run are written already, but the code has not changed.
    changed = commit and _git("status", "--porcelain", "--", "src", "bench/*.py")
    return f"{commit}-dirty" if changed else commit


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True
        )
    except OSError:
        return ""
    return done.stdout.strip()


def write_section() -> None:
    runs = results.read("runs").get("runs", [])
    text = table(runs) if runs else render.NO_RESULTS
    render.replace_section(render.DETAILS, "runs", text)


def table(runs: list[Run]) -> str:
    """Return all runs, the oldest first, and their range for each machine."""
    rows = [_cells(run) for run in runs]
    for machine in dict.fromkeys(map(_machine, runs)):
        same = [run for run in runs if _machine(run) == machine]
        if len(same) > 1:
            rows.append(_range_cells(machine, same))
    heads = ["run", "machine", "commit", "other programs", *RATIOS]
    return render.table(heads, rows)


def _cells(run: Run) -> list[str]:
    others = run["others_share"]
    return [
        f"{run['date'][:10]} {run['date'][11:16]}",
        _machine(run),
        run["commit"] or "–",
        "–" if others is None else f"{others:.2f} of a core",
        *(_number(run["ratios"].get(name)) for name in RATIOS),
    ]


def _range_cells(machine: str, runs: list[Run]) -> list[str]:
    cells = [f"**{len(runs)} runs**", machine, "–", "–"]
    for name in RATIOS:
        values = [run["ratios"][name] for run in runs if name in run["ratios"]]
        low, high = (min(values), max(values)) if values else (None, None)
        cells.append(f"{_number(low)} to {_number(high)}" if values else "–")
    return cells


def _machine(run: Run) -> str:
    machine = run["machine"]
    return f"{machine['cpu']}, Python {machine['python']}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
