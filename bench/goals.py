"""The table of performance goals, and how each is computed from the results.

A goal without results is "not measured", with the reason; it is never counted as met.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench import results
from bench.errors import MeasurementError
from bench.peer import LIMIT
from bench.traffic import (
    ANY_ADDRESS,
    ANY_TEXT,
    MANY_CLIENTS,
    NEW_CONNECTIONS,
    ONE_KEY,
    REQUEST_IDS,
)

Rounds = list[dict[str, Any]]


class Measurements:
    """The results of the peers by name, and those of the longest texts."""

    def __init__(self, published: bool) -> None:
        self._peers = results.read("peers", published).get("peers", {})
        self._sizes = results.read("sizes", published).get("rounds", {})

    def peer(self, name: str) -> Rounds:
        peer = self._peers.get(name, {})
        if not peer.get("rounds"):
            reason = peer.get("not_measured", f"there are no results for {name}")
            raise MeasurementError(reason)
        rounds: Rounds = peer["rounds"]
        return rounds

    def traffic(self, name: str, kind: str) -> Rounds:
        """Return the rounds of a peer with one kind of traffic."""
        rounds = self.peer(name)
        if kind == ONE_KEY:
            return rounds
        found: dict[str, Rounds] = self._peers[name].get("traffic", {})
        if not found.get(kind):
            raise MeasurementError(f"there are no results for {name} with {kind}")
        return found[kind]

    def fastest_peer(self, kind: str) -> Rounds:
        """Return the rounds of the fastest other server that checks requests.

        Fail if one of them was not measured, because it may be the fastest.
        """
        peers = self._peers.items()
        names = [name for name, peer in peers if peer["family"] != LIMIT]
        found = [self.traffic(name, kind) for name in names if name != "readback"]
        if not found:
            raise MeasurementError("there are no results for the peers")
        return max(found, key=efficiency)

    def longest(self, name: str) -> Rounds:
        """Return the rounds with the longest texts for a name like `nginx_cyrillic`."""
        if name not in self._sizes:
            raise MeasurementError(f"there are no results for {name}")
        rounds: Rounds = self._sizes[name]
        return rounds


@dataclass(frozen=True)
class Goal:
    """One row of the table."""

    description: str
    bound: float
    figure: Callable[[Measurements], float]
    unit: str = ""

    @property
    def target(self) -> str:
        return f"{self.bound:g}{self.unit} or more"


@dataclass(frozen=True)
class Verdict:
    goal: Goal
    measured: str
    verdict: str


def efficiency(rounds: Rounds) -> float:
    """Return the median, over the rounds, of requests per CPU-second."""
    return float(median(row["per_cpu_second"] for row in rounds))


def relative_to_nginx(kind: str) -> Callable[[Measurements], float]:
    def ratio(found: Measurements) -> float:
        ours, limit = (found.traffic(each, kind) for each in ("readback", "nginx"))
        return efficiency(ours) / efficiency(limit)

    return ratio


def relative_to_fastest_peer(kind: str) -> Callable[[Measurements], float]:
    def ratio(found: Measurements) -> float:
        ours = found.traffic("readback", kind)
        return efficiency(ours) / efficiency(found.fastest_peer(kind))

    return ratio


def longest_relative_to_nginx(script: str) -> Callable[[Measurements], float]:
    """Return a figure for the longest text in a script, such as Cyrillic."""

    def ratio(found: Measurements) -> float:
        ours = found.longest(f"readback_{script}")
        return efficiency(ours) / efficiency(found.longest(f"nginx_{script}"))

    return ratio


TRAFFIC = {
    ANY_TEXT: 0.34,
    ANY_ADDRESS: 0.25,
    REQUEST_IDS: 0.32,
    MANY_CLIENTS: 0.38,
    ONE_KEY: 0.42,
    NEW_CONNECTIONS: 0.37,  # 0.9 of what version 1.0.0 reached
}
"""What each kind of traffic must reach, relative to nginx."""


def _traffic_goals() -> Iterator[Goal]:
    for kind, bound in TRAFFIC.items():
        yield Goal(f"{kind}, relative to nginx", bound, relative_to_nginx(kind))
        ratio = relative_to_fastest_peer(kind)
        yield Goal("… relative to the fastest peer", 1, ratio, " ×")


GOALS = [
    *_traffic_goals(),
    Goal(
        "8192 bytes of ASCII, relative to nginx",
        0.5,
        longest_relative_to_nginx("ascii"),
    ),
    Goal(
        "8192 bytes of Cyrillic, relative to nginx",
        0.28,
        longest_relative_to_nginx("cyrillic"),
    ),
]


def verdicts(published: bool) -> Iterator[Verdict]:
    found = Measurements(published)
    for goal in GOALS:
        try:
            value = goal.figure(found)
        except MeasurementError as error:
            yield Verdict(goal, "–", f"not measured: {error}")
        else:
            verdict = "met" if value >= goal.bound else "not met"
            yield Verdict(goal, f"{value:.3g}{goal.unit}", verdict)


def report(published: bool) -> Iterator[str]:
    for each in verdicts(published):
        yield (
            f"{each.goal.description:<62} {each.goal.target:>15} "
            f"{each.measured:>9}  {each.verdict}"
        )
