"""The raw results: a JSON file that is complete after every single measurement.

Whatever interrupts a run, what has been measured by then is on the disk. Also the two
figures that everything shown is made of: the median and the spread of the rounds.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench import proc
from bench.roster import HERE, HOME

KEPT = HERE / "results"
# Quick runs say whether the benchmark works, not how fast anything is; and peers that
# are measured alone are compared with nobody.
TRIALS = HOME / "results"


class Results:
    """One file of results, written whenever something is added."""

    def __init__(self, name: str, method: dict[str, object], kept: bool) -> None:
        self._name, self._kept = name, kept
        self.data: dict[str, Any] = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": proc.machine(),
            "method": method,
        }

    def write(self) -> None:
        keep(self._name, self.data, self._kept)


def keep(name: str, data: dict[str, Any], kept: bool = True) -> None:
    path = _path(name, kept)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    text = json.dumps(data, indent=1, ensure_ascii=False)
    beside.write_text(text + "\n", encoding="utf-8")
    beside.replace(path)


def read(name: str, kept: bool = True) -> dict[str, Any]:
    path = _path(name, kept)
    if not path.is_file():
        return {}
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def middle(values: Iterable[float]) -> float:
    return median(values)


def spread(values: Iterable[float]) -> float:
    """How far the rounds lie apart: the widest distance, of the median."""
    listed = list(values)
    return (max(listed) - min(listed)) / median(listed)


def _path(name: str, kept: bool) -> Path:
    return (KEPT if kept else TRIALS) / f"{name}.json"
