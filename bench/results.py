"""The raw results: JSON files that are rewritten after every measurement.

If a run is interrupted, everything measured so far is on disk.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench import proc
from bench.paths import BENCH, WORKSPACE

PUBLISHED = BENCH / "results"
# For quick runs, which show only that the benchmark works, and for runs with only some
# of the peers, which allow no comparison with the others.
TRIALS = WORKSPACE / "results"


class ResultsFile:
    """One file of results, with the date, the machine and the method."""

    def __init__(
        self, name: str, method: Mapping[str, object], published: bool
    ) -> None:
        self._name = name
        self._published = published
        self.data: dict[str, Any] = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": proc.describe_machine(),
            "method": dict(method),
        }

    def write(self) -> None:
        write(self._name, self.data, self._published)


def write(name: str, data: Mapping[str, Any], published: bool) -> None:
    path = _path(name, published)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    text = json.dumps(data, indent=1, ensure_ascii=False)
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(path)


def read(name: str, published: bool = True) -> dict[str, Any]:
    """Return a file of results; empty if nothing has been measured yet."""
    path = _path(name, published)
    if not path.is_file():
        return {}
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def spread(values: Iterable[float]) -> float:
    """Return the difference between the extremes, relative to the median."""
    values = list(values)
    return (max(values) - min(values)) / median(values)


def _path(name: str, published: bool) -> Path:
    return (PUBLISHED if published else TRIALS) / f"{name}.json"
