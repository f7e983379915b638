"""The performance goals as a table, and how each follows from the results.

This module also runs the scenarios and stores their raw figures. A goal without
results is "not measured", with the reason; it is never counted as met.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

from bench import results
from bench.errors import MeasurementError
from bench.plan import Plan
from bench.progress import ProgressBar
from bench.results import ResultsFile
from bench.scenarios import SCENARIOS, Runner
from bench.traffic import MANY_CLIENTS, MANY_KEYS, NEW_CONNECTIONS, ONE_KEY

Rounds = list[dict[str, Any]]


class Measurements:
    """The results of the peers and of the scenarios, by name."""

    def __init__(self, published: bool) -> None:
        self._peers = results.read("peers", published).get("peers", {})
        self._scenarios = results.read("goals", published).get("scenarios", {})

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

    def family(self, family: str) -> list[Rounds]:
        found = [
            peer["rounds"]
            for peer in self._peers.values()
            if peer["family"] == family and peer["rounds"]
        ]
        if not found:
            raise MeasurementError(f"there are no results for any {family}")
        return found

    def scenario(self, name: str) -> dict[str, Any]:
        found = self._scenarios.get(name, {})
        if "figures" not in found:
            reason = found.get("not_measured", f"there are no results for {name}")
            raise MeasurementError(reason)
        figures: dict[str, Any] = found["figures"]
        return figures

    def figure(self, scenario: str, name: str) -> Any:
        """Return a figure that an older run of the scenario may not have measured."""
        figures = self.scenario(scenario)
        if name not in figures:
            raise MeasurementError(f"the last run of {scenario} did not measure it")
        return figures[name]


@dataclass(frozen=True)
class Goal:
    """One row of the table."""

    description: str
    bound: float
    figure: Callable[[Measurements], float]
    at_least: bool = True
    unit: str = ""

    def is_met_by(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound

    @property
    def target(self) -> str:
        direction = "or more" if self.at_least else "or less"
        return f"{self.bound:g}{self.unit} {direction}"


@dataclass(frozen=True)
class Verdict:
    goal: Goal
    measured: str
    verdict: str


def efficiency(rounds: Rounds) -> float:
    """Return the requests per CPU-second of the server, the median of the rounds."""
    return float(median(row["per_cpu_second"] for row in rounds))


def relative_to_peer(name: str, kind: str = ONE_KEY) -> Callable[[Measurements], float]:
    def ratio(found: Measurements) -> float:
        ours, theirs = (found.traffic(each, kind) for each in ("readback", name))
        return efficiency(ours) / efficiency(theirs)

    return ratio


def relative_to_fastest_mock(found: Measurements) -> float:
    fastest = max(map(efficiency, found.family("mock")))
    return efficiency(found.peer("readback")) / fastest


def relative_to_nginx(
    scenario: str, suffix: str = ""
) -> Callable[[Measurements], float]:
    """Return the ratio of a scenario that is not a kind of traffic."""

    def ratio(found: Measurements) -> float:
        figures = found.scenario(scenario)
        ours, limit = figures[f"readback{suffix}"], figures[f"nginx{suffix}"]
        return efficiency(ours) / efficiency(limit)

    return ratio


def fixed_rate_p99(found: Measurements) -> float:
    def p99(name: str) -> float:
        latencies = [row["fixed_rate"] for row in found.peer(name)]
        if not all(latencies):
            raise MeasurementError(f"{name} did not reach the fixed rate")
        return float(median(latency["p99"] for latency in latencies))

    return p99("readback") / p99("nginx")


def two_workers(keys: str = "") -> Callable[[Measurements], float]:
    """Estimate the throughput of two workers on two cores, relative to one.

    It is 2 if a request costs two workers no more CPU. Whether both are kept busy is
    another goal, their shares of connections.
    """

    def ratio(found: Measurements) -> float:
        one, two = (found.figure("workers", f"{count}{keys}") for count in (1, 2))
        return 2 * efficiency(two) / efficiency(one)

    return ratio


def smaller_share(found: Measurements) -> float:
    return float(median(found.figure("workers", "smaller_shares")))


def kib_per_idle_connection(found: Measurements) -> float:
    return float(median(found.scenario("idle")["bytes_each"])) / 1024


def with_idle_connections(found: Measurements) -> float:
    figures = found.scenario("idle")
    return efficiency(figures["with_idle"]) / efficiency(figures["alone"])


def memory_growth(found: Measurements) -> float:
    early, late = found.scenario("memory")["bytes"]
    return float(late / early)


def refused(what: str) -> Callable[[Measurements], float]:
    def ratio(found: Measurements) -> float:
        figures = found.scenario("refusals")
        return efficiency(figures[what]) / efficiency(figures["accepted"])

    return ratio


GOALS = [
    Goal("requests per CPU-second, relative to nginx", 0.85, relative_to_peer("nginx")),
    Goal(
        "… relative to FastAPI on uvicorn", 25, relative_to_peer("fastapi"), unit=" ×"
    ),
    Goal("… relative to the fastest mock", 10, relative_to_fastest_mock, unit=" ×"),
    Goal(f"{MANY_KEYS}, relative to nginx", 0.45, relative_to_peer("nginx", MANY_KEYS)),
    Goal(
        f"{MANY_CLIENTS}, relative to nginx",
        0.4,
        relative_to_peer("nginx", MANY_CLIENTS),
    ),
    Goal(
        "… relative to Go net/http", 2, relative_to_peer("go", MANY_CLIENTS), unit=" ×"
    ),
    Goal(
        f"{NEW_CONNECTIONS}, relative to nginx",
        0.45,
        relative_to_peer("nginx", NEW_CONNECTIONS),
    ),
    Goal(
        "… relative to Go net/http",
        1,
        relative_to_peer("go", NEW_CONNECTIONS),
        unit=" ×",
    ),
    Goal(
        "8192 bytes of ASCII, relative to nginx",
        0.6,
        relative_to_nginx("sizes", "_ascii"),
    ),
    Goal(
        "8192 bytes of Cyrillic, relative to nginx",
        0.5,
        relative_to_nginx("sizes", "_cyrillic"),
    ),
    Goal(
        "p99 at half of nginx's rate, relative to nginx",
        2,
        fixed_rate_p99,
        at_least=False,
        unit=" ×",
    ),
    Goal("two workers on two cores, relative to one", 1.9, two_workers(), unit=" ×"),
    Goal("… with a key for each connection", 1.9, two_workers("_keys"), unit=" ×"),
    Goal("smaller worker's share of 64 connections", 28, smaller_share),
    Goal(
        "memory per idle connection, with 10,000 of them",
        4,
        kib_per_idle_connection,
        at_least=False,
        unit=" KiB",
    ),
    Goal(
        "32 busy connections and 10,000 idle, relative to no idle ones",
        0.95,
        with_idle_connections,
    ),
    Goal(
        "memory after ten million requests, relative to 100,000",
        1.02,
        memory_growth,
        at_least=False,
        unit=" ×",
    ),
    *(
        Goal(f"refused ({what}), relative to accepted", 0.7, refused(what))
        for what in (
            "401, a mistyped key",
            "401, a made-up key",
            "404, another path",
            "400, an unknown field",
        )
    ),
]


def measure(
    names: Iterable[str], plan: Plan, progress: ProgressBar, published: bool
) -> None:
    """Run scenarios; each replaces its previous result."""
    names = list(names)
    method = {"rounds": plan.rounds, "seconds": plan.seconds}
    file = ResultsFile("goals", method, published)
    file.data["scenarios"] = results.read("goals", published).get("scenarios", {})
    runner = Runner(plan, progress)
    progress.add_steps(len(names))
    for name in names:
        progress.describe(f"scenario: {name}")
        row: dict[str, Any] = {"date": datetime.now(UTC).isoformat(timespec="seconds")}
        try:
            row["figures"] = SCENARIOS[name](runner)
        except (MeasurementError, OSError) as error:
            row["not_measured"] = str(error)
            progress.print(f"The scenario {name} could not be measured: {error}")
        file.data["scenarios"][name] = row
        file.write()
        progress.finish_step()


def verdicts(published: bool) -> Iterator[Verdict]:
    found = Measurements(published)
    for goal in GOALS:
        try:
            value = goal.figure(found)
        except MeasurementError as error:
            yield Verdict(goal, "–", f"not measured: {error}")
        else:
            verdict = "met" if goal.is_met_by(value) else "not met"
            yield Verdict(goal, f"{value:.3g}{goal.unit}", verdict)


def report(published: bool) -> Iterator[str]:
    for each in verdicts(published):
        yield (
            f"{each.goal.description:<62} {each.goal.target:>15} "
            f"{each.measured:>9}  {each.verdict}"
        )
