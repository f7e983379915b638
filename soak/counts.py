"""Compare what the service has counted with what the clients have seen.

The counts are compared from one checkpoint to the next, for every endpoint and code.
Without a kill in between, both must be equal. These counts are also summed separately,
because kills may make a tenth of the other counts uncertain. A killed worker may lose
the counts of its last half second, which it has not added up yet. A client cannot know
which worker answered on a connection that was closed before the kill; it may have been
the killed one. A request that was lost may have been counted.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from soak.records import (
    LOST,
    PATIENCE,
    Checkpoint,
    ClientConnection,
    Kill,
    Observation,
    Scene,
    Seen,
)

Cell = tuple[Any, ...]
"""The labels of a count; the last one is the code."""

JOURNAL_INTERVAL = 2
"""The tested service's setting, which is short so that counts are written soon."""
METRICS_SECONDS = 2.0
"""A killed worker may lose the counts of half a second, or of more if it is busy."""
USAGE_SECONDS = METRICS_SECONDS + JOURNAL_INTERVAL + 1.0
"""The same for rows of usage, which are written only after the interval."""


@dataclass
class Comparison:
    """Counts of the clients and of the service."""

    seen: int = 0
    counted: int = 0
    may_lack: int = 0
    """How many counts may have been lost with killed workers."""
    may_exceed: int = 0
    """How many requests without an answer may have been counted."""
    certainly_seen: int = 0
    """The part of `seen` that neither a kill nor a lost request can affect."""
    certainly_counted: int = 0
    differences: list[str] = field(default_factory=list)
    """Descriptions of the differences that neither kills nor lost requests explain."""

    def add(self, what: str, seen: int, counted: int, lack: int, exceed: int) -> None:
        self.seen += seen
        self.counted += counted
        self.may_lack += lack
        if not lack and not exceed:
            self.certainly_seen += seen
            self.certainly_counted += counted
        if not seen - lack <= counted <= seen + exceed:
            self.differences.append(f"{what}: {seen:,} seen, {counted:,} counted")


def compare_metrics(seen: Seen, scene: Scene) -> Comparison:
    """Compare `readback_requests_total` by endpoint and code."""
    unsure = _unsure_rows(seen, scene.kills, METRICS_SECONDS)
    counted = [checkpoint.requests for checkpoint in scene.checkpoints]
    return _compare(
        lambda row: seen.outcomes[row.outcome], unsure, counted, seen, scene
    )


def compare_usage(seen: Seen, scene: Scene) -> Comparison:
    """Compare the rows of usage by key, endpoint and code."""

    def cell_of(row: Observation) -> Cell | None:
        endpoint, code = seen.outcomes[row.outcome]
        # A key that could not be looked up is not known, so nothing is counted for it.
        known = row.key >= 0 and code != "unavailable"
        return (row.key, endpoint, code) if known else None

    unsure = _unsure_rows(seen, scene.kills, USAGE_SECONDS)
    unsure |= _not_attributed(seen, scene)
    counted = [checkpoint.usage for checkpoint in scene.checkpoints]
    return _compare(cell_of, unsure, counted, seen, scene)


def compare_connections(seen: Seen, scene: Scene) -> Comparison:
    """Compare `readback_connections_total`."""
    comparison = Comparison()
    before = 0
    for start, end, checkpoint in _epochs(scene):
        opened = [each for each in seen.connections if start < each.opened <= end]
        unsure = [
            each
            for each in opened
            for kill in scene.kills
            if kill.at - METRICS_SECONDS - each.delay <= each.opened <= kill.at
            and _may_be_of(each, kill)
        ]
        comparison.add(
            f"connections {_describe(start, end, scene)}",
            len(opened),
            checkpoint.connections - before,
            len(unsure),
            0,
        )
        before = checkpoint.connections
    return comparison


def _compare(
    cell_of: Callable[[Observation], Cell | None],
    unsure: set[Observation],
    counted: Sequence[Mapping[Cell, int]],
    seen: Seen,
    scene: Scene,
) -> Comparison:
    """Compare the counts of each cell from one checkpoint to the next."""
    comparison = Comparison()
    before: Mapping[Cell, int] = {}
    for (start, end, _), now in zip(_epochs(scene), counted, strict=True):
        total: Counter[Cell] = Counter()
        lack: Counter[Cell] = Counter()
        lost: Counter[Cell] = Counter()
        for row in _between(seen, start, end):
            cell = cell_of(row)
            if cell is None:
                continue
            if cell[-1] == LOST:
                # We do not know how it would have been counted.
                lost[cell[:-1]] += 1
            else:
                total[cell] += 1
                lack[cell] += row in unsure
        for cell in sorted(total.keys() | now.keys()):
            comparison.add(
                f"{' '.join(map(str, cell))} {_describe(start, end, scene)}",
                total[cell],
                now.get(cell, 0) - before.get(cell, 0),
                lack[cell],
                lost[cell[:-1]],
            )
        comparison.may_exceed += lost.total()
        before = now
    return comparison


def _epochs(scene: Scene) -> Iterator[tuple[float, float, Checkpoint]]:
    """Yield the time between two checkpoints, and the second of them."""
    start = -inf
    for checkpoint in scene.checkpoints:
        yield start, checkpoint.at, checkpoint
        start = checkpoint.at


def _describe(start: float, end: float, scene: Scene) -> str:
    since = max(0.0, start - scene.started)
    return f"from {since:.0f} s to {end - scene.started:.0f} s"


def _between(seen: Seen, start: float, end: float) -> list[Observation]:
    """Return the requests answered in this time; they are recorded in that order."""
    rows = seen.observations
    first = bisect_right(rows, start, key=_received)
    return rows[first : bisect_right(rows, end, key=_received)]


def _received(row: Observation) -> float:
    return row.received


def _unsure_rows(seen: Seen, kills: Iterable[Kill], seconds: float) -> set[Observation]:
    """Return the answers that a killed worker may have given in its last seconds."""
    found = set()
    for kill in kills:
        for row in _between(seen, kill.at - seconds, kill.at + PATIENCE):
            connection = seen.connections[row.connection]
            late_enough = row.received - connection.delay >= kill.at - seconds
            if late_enough and row.sent <= kill.at and _may_be_of(connection, kill):
                found.add(row)
    return found


def _not_attributed(seen: Seen, scene: Scene) -> set[Observation]:
    """Return the 404s that may be missing from the usage of their key.

    A 404 needs no key. Its key is looked up afterwards, and if the database is away
    then, the request is counted for no key.
    """
    not_found = {n for n, (_, code) in enumerate(seen.outcomes) if code == "not_found"}
    return {
        row
        for row in seen.observations
        if row.outcome in not_found
        and any(outage.covers(row.received) for outage in scene.outages)
    }


def _may_be_of(connection: ClientConnection, kill: Kill) -> bool:
    closed_before = connection.closed - connection.delay <= kill.at
    return connection.port in kill.ports or closed_before
