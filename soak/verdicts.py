"""The promises of the service, each judged from the records of a soak."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import linear_regression, mean, median
from typing import Any

from soak import counts, created
from soak.counts import Comparison
from soak.created import CreatedReport
from soak.records import LOST, Observation, Sample, Scene, Seen

# The largest growth, as a share, that still counts as flat.
MEMORY_GROWTH = 0.05
# How long a new worker grows, and how long it must be watched after that.
SETTLING_SECONDS = 60.0
SETTLED_SECONDS = 1800.0


@dataclass
class Verdict:
    """One promise, what was measured, and whether the promise was kept."""

    promise: str
    measured: str
    kept: bool | None
    """None if it could not be judged."""
    details: list[str] = field(default_factory=list)
    """Descriptions of what broke the promise."""


@dataclass
class Judgement:
    figures: dict[str, Any]
    verdicts: list[Verdict]

    @property
    def broken(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.kept is False]


def judge(seen: Seen, scene: Scene) -> Judgement:
    losses = Losses(seen, scene)
    stamps = created.check(seen, scene)
    memory = Memory(scene)
    compared = {
        "`readback_requests_total`": counts.compare_metrics(seen, scene),
        "The usage in the database": counts.compare_usage(seen, scene),
        "`readback_connections_total`": counts.compare_connections(seen, scene),
    }
    verdicts = [
        _answers(seen),
        losses.verdict(),
        _connections(seen),
        _availability(seen, scene),
        _ids(seen),
        _created(stamps),
        *[_counts(what, each, scene) for what, each in compared.items()],
        memory.verdict(),
        _privacy(scene),
        _faults(scene),
        _stop(scene),
    ]
    figures = _figures(seen, scene) | losses.figures() | memory.figures()
    figures["counts"] = {
        what: [
            *(each.seen, each.counted, each.may_lack, each.may_exceed),
            *(each.certainly_seen, each.certainly_counted),
        ]
        for what, each in compared.items()
    }
    figures["created_leads"] = [round(lead, 1) for lead in stamps.leads]
    figures["created_closest"] = stamps.closest
    return Judgement(figures, verdicts)


class Losses:
    """The requests without an answer: those that a kill explains, and the others.

    A kill explains the loss of requests that were under way on connections of the
    killed worker, at most one on each.
    """

    def __init__(self, seen: Seen, scene: Scene) -> None:
        lost = {n for n, (_, code) in enumerate(seen.outcomes) if code == LOST}
        self._connections = seen.connections
        self.by_kill: list[Observation] = []
        self.others: list[Observation] = []
        self.on_long_path = 0
        self._started = scene.started
        for row in seen.observations:
            if row.outcome not in lost:
                continue
            if _hit_by_kill(row, seen, scene):
                self.by_kill.append(row)
            else:
                self.others.append(row)
                self.on_long_path += self._delay(row) > 0
        self.others.sort(key=self._delay)
        self._held = sum(len(kill.ports) for kill in scene.kills)

    def verdict(self) -> Verdict:
        details = [
            f"at {row.received - self._started:.1f} s, "
            f"{row.received - row.sent:.3f} s after it was sent"
            + (" on the long path" if self._delay(row) else "")
            for row in self.others
        ]
        if self.on_long_path:
            details.insert(0, f"{self.on_long_path} of them on the long path")
        return Verdict(
            "No request is lost, except those under way on a killed worker.",
            f"{len(self.others):,} requests lost; {len(self.by_kill):,} more lost by "
            f"kills of workers that held {self._held:,} connections",
            not self.others,
            details,
        )

    def _delay(self, row: Observation) -> float:
        return self._connections[row.connection].delay

    def figures(self) -> dict[str, Any]:
        return {
            "lost": len(self.others),
            "lost_on_long_path": self.on_long_path,
            "lost_by_kills": len(self.by_kill),
            "lost_at": sorted(
                {round(row.received - self._started, 1) for row in self.others}
            ),
        }


class Memory:
    """The private memory of the workers and of their manager after the last fault.

    Shared memory is left out, because its tables fill with keys up to a fixed size.
    """

    def __init__(self, scene: Scene) -> None:
        settled_at = scene.calm_since + SETTLING_SECONDS
        self._settled = [
            each for each in scene.samples if each.at >= settled_at and each.workers
        ]
        fifth = max(1, len(self._settled) // 5)
        self._first = self._settled[:fifth]
        self._last = self._settled[-fifth:]

    @property
    def _seconds(self) -> float:
        return self._settled[-1].at - self._settled[0].at if self._settled else 0.0

    @property
    def _is_judged(self) -> bool:
        return self._seconds >= SETTLED_SECONDS

    def verdict(self) -> Verdict:
        promise = "The private memory of a process is flat."
        if not self._is_judged:
            least = SETTLED_SECONDS / 60
            measured = f"{self._seconds / 60:.0f} of at least {least:.0f} minutes"
            return Verdict(promise, measured, None)
        start = self._worker(self._first)
        end = self._worker(self._last)
        first = self._manager(self._first)
        last = self._manager(self._last)
        measured = (
            f"worker {_mib(start)} to {_mib(end)}, manager {_mib(first)} to "
            f"{_mib(last)}, in {self._seconds / 60:.0f} minutes"
        )
        flat = _flat(start, end) and _flat(first, last)
        return Verdict(promise, measured, flat)

    def figures(self) -> dict[str, Any]:
        return {
            "worker_memory": [self._worker(self._first), self._worker(self._last)],
            "manager_memory": [self._manager(self._first), self._manager(self._last)],
            "slope_kib_per_minute": self._slope(),
        }

    def _worker(self, samples: Sequence[Sample]) -> float:
        return median([max(each.workers.values()) for each in samples] or [0])

    def _manager(self, samples: Sequence[Sample]) -> float:
        return median([each.manager for each in samples] or [0])

    def _slope(self) -> float | None:
        """Return by how many KiB a minute a worker grows; None after too short a calm.

        The allocator takes or returns a megabyte now and then, which over twenty
        seconds looks like a growth of three megabytes a minute.
        """
        if not self._is_judged:
            return None
        rows = self._settled
        kib = [mean(each.workers.values()) / 1024 for each in rows]
        return round(60 * linear_regression([each.at for each in rows], kib).slope, 1)


def _hit_by_kill(row: Observation, seen: Seen, scene: Scene) -> bool:
    connection = seen.connections[row.connection]
    return any(
        connection.port in kill.ports and connection.opened <= kill.at <= row.received
        for kill in scene.kills
    )


def _answers(seen: Seen) -> Verdict:
    return Verdict(
        "Every answer is right, and every text returns unchanged.",
        f"{len(seen.wrong):,} wrong",
        not seen.wrong,
        seen.wrong,
    )


def _connections(seen: Seen) -> Verdict:
    refused = seen.refused_connections
    return Verdict(
        "Every connection is accepted.",
        f"{len(refused):,} of {len(seen.connections) + len(refused):,} refused",
        not refused,
        refused,
    )


def _availability(seen: Seen, scene: Scene) -> Verdict:
    unavailable = {
        n for n, (_, code) in enumerate(seen.outcomes) if code == "unavailable"
    }
    rows = [row for row in seen.observations if row.outcome in unavailable]
    outside = [
        f"at {row.received - scene.started:.1f} s"
        for row in rows
        if not any(outage.covers(row.received) for outage in scene.outages)
    ]
    return Verdict(
        "A key that a worker knows keeps working while the database is unavailable.",
        f"{len(rows):,} answers with 503 for keys that the worker did not know, "
        f"{len(outside):,} of them without an outage",
        not outside,
        outside,
    )


def _ids(seen: Seen) -> Verdict:
    ids = [row.id for row in seen.observations if row.created]
    repeated = len(ids) - len(set(ids))
    return Verdict(
        "Every `id` is unique.", f"{repeated:,} of {len(ids):,} repeated", not repeated
    )


def _created(report: CreatedReport) -> Verdict:
    details = []
    if report.out_of_range:
        details.append(
            f"{report.out_of_range:,} are behind the clock or over an hour ahead: "
            f"{report.leads[0]:.0f} to {report.leads[1]:.0f} s"
        )
    return Verdict(
        "Two successive responses to a key differ in `created`, and none is more than "
        "an hour ahead of the clock.",
        f"{report.repeated:,} of {report.values:,} equal the one before, "
        f"{report.out_of_range:,} out of range",
        not report.violations,
        details,
    )


def _counts(what: str, compared: Comparison, scene: Scene) -> Verdict:
    details = list(compared.differences)
    if not compared.certainly_seen and not scene.interrupted:
        details.append("a kill may explain any difference, so this proves nothing")
    difference = f"{compared.counted - compared.seen:+,}".replace("-", "−")
    return Verdict(
        f"{what} is exact.",
        f"without kills, clients saw {compared.certainly_seen:,} and Readback counted "
        f"{compared.certainly_counted:,}; in all, {compared.seen:,} and "
        f"{compared.counted:,} ({difference}; kills may explain "
        f"−{compared.may_lack:,} to +{compared.may_exceed:,})",
        not details,
        details,
    )


def _privacy(scene: Scene) -> Verdict:
    return Verdict(
        "No text and no key is in a log, a table or a metric.",
        f"{len(scene.leaks)} found in {scene.searched_bytes / 2**20:,.1f} MiB",
        not scene.leaks,
        scene.leaks,
    )


def _faults(scene: Scene) -> Verdict:
    """Judge the soak itself: a fault that did not happen proves nothing."""
    replaced = sum(reload.replaced for reload in scene.reloads)
    noticed = sum(outage.noticed for outage in scene.outages)
    missing = len(scene.reloads) - replaced + len(scene.outages) - noticed
    return Verdict(
        "The faults really happened.",
        f"{replaced} of {len(scene.reloads)} reloads replaced all workers, {noticed} "
        f"of {len(scene.outages)} outages were noticed, {len(scene.kills)} workers "
        "were killed",
        # Ctrl-C may come before the last reload and the last outage have had an effect.
        missing <= 2 * scene.interrupted,
    )


def _stop(scene: Scene) -> Verdict:
    return Verdict(
        "The service stops cleanly and logs no error of its own.",
        scene.exit_error or "yes",
        not scene.exit_error,
    )


def _figures(seen: Seen, scene: Scene) -> dict[str, Any]:
    lost = {n for n, (_, code) in enumerate(seen.outcomes) if code == LOST}
    accepted = {n for n, (_, code) in enumerate(seen.outcomes) if not code}
    answered = [row for row in seen.observations if row.outcome not in lost]
    refused = [row for row in answered if row.outcome not in accepted]
    direct = sorted(
        row.received - row.sent
        for row in answered
        if not seen.connections[row.connection].delay
    )
    return {
        "seconds": round(scene.ended - scene.started, 1),
        "answers": len(answered),
        "echoes": sum(1 for row in answered if row.created),
        "refusals": len(refused),
        "wrong": len(seen.wrong),
        "connections": len(seen.connections),
        "code_points": seen.code_points,
        "reloads": len(scene.reloads),
        "kills": len(scene.kills),
        "outages": len(scene.outages),
        "latency_ms": {
            name: round(1000 * direct[int(share * (len(direct) - 1))], 2)
            for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
            if direct
        },
    }


def _flat(start: float, end: float) -> bool:
    return end <= start * (1 + MEMORY_GROWTH)


def _mib(size: float) -> str:
    return f"{size / 2**20:.1f} MiB"
