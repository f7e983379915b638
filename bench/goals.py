"""The goals as a table: what is asked, how much, and how it follows from the results.

Also runs the scenarios and keeps their raw figures. A goal whose evidence is missing
is "not measured", with the reason, never met.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bench import results
from bench.display import Display
from bench.pace import Pace
from bench.results import Results, middle
from bench.roster import Absent
from bench.scenarios import SCENARIOS, Stage

Rows = list[dict[str, Any]]
# Clients that wait for each answer keep a worker busy from this many on.
ENOUGH_CONNECTIONS = 8


class Evidence:
    """The results of the peers and of the scenarios, looked up by name."""

    def __init__(self, kept: bool) -> None:
        self._peers = results.read("peers", kept).get("peers", {})
        self._scenarios = results.read("goals", kept).get("scenarios", {})

    def turns(self, name: str) -> Rows:
        peer = self._peers.get(name, {})
        if not peer.get("turns"):
            raise Absent(peer.get("absent", f"{name} has not been measured"))
        rows: Rows = peer["turns"]
        return rows

    def family(self, family: str) -> list[Rows]:
        rows = [
            peer["turns"]
            for peer in self._peers.values()
            if peer["family"] == family and peer["turns"]
        ]
        if not rows:
            raise Absent(f"no {family} has been measured")
        return rows

    def scenario(self, name: str) -> dict[str, Any]:
        found = self._scenarios.get(name, {})
        if "figures" not in found:
            raise Absent(found.get("absent", f"{name} has not been measured"))
        figures: dict[str, Any] = found["figures"]
        return figures


@dataclass(frozen=True)
class Goal:
    """One row of the table."""

    what: str
    bound: float
    figure: Callable[[Evidence], float]
    at_least: bool = True
    unit: str = ""

    def met_by(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound

    @property
    def wanted(self) -> str:
        side = "or more" if self.at_least else "or less"
        return f"{self.bound:g}{self.unit} {side}"


@dataclass(frozen=True)
class Verdict:
    goal: Goal
    measured: str
    word: str


def efficiency(rows: Rows) -> float:
    """Requests per CPU-second of the server, the median of the rounds."""
    return middle(row["per_cpu_second"] for row in rows)


def of_peer(name: str) -> Callable[[Evidence], float]:
    def ratio(evidence: Evidence) -> float:
        return efficiency(evidence.turns("readback")) / efficiency(evidence.turns(name))

    return ratio


def of_fastest_mock(evidence: Evidence) -> float:
    fastest = max(map(efficiency, evidence.family("mock")))
    return efficiency(evidence.turns("readback")) / fastest


def of_nginx(scenario: str, suffix: str = "") -> Callable[[Evidence], float]:
    def ratio(evidence: Evidence) -> float:
        figures = evidence.scenario(scenario)
        ours, limit = figures[f"readback{suffix}"], figures[f"nginx{suffix}"]
        return efficiency(ours) / efficiency(limit)

    return ratio


def steady_p99(evidence: Evidence) -> float:
    def p99(name: str) -> float:
        found = [turn["steady"] for turn in evidence.turns(name)]
        if not all(found):
            raise Absent(f"{name} did not reach the fixed rate")
        return middle(each["p99"] for each in found)

    return p99("readback") / p99("nginx")


def two_workers(evidence: Evidence) -> float:
    """How much two workers on two cores of their own would do, of one.

    Twice, if a request costs them no more CPU, and if each of them gets work.
    """
    figures = evidence.scenario("workers")
    cost = efficiency(figures["2"]) / efficiency(figures["1"])
    busy = middle(
        sum(held >= ENOUGH_CONNECTIONS for held in row["connections"])
        for row in figures["2"]
    )
    return cost * busy


def kib_per_idle_connection(evidence: Evidence) -> float:
    return middle(evidence.scenario("idle")["bytes_each"]) / 1024


def beside_idle(evidence: Evidence) -> float:
    figures = evidence.scenario("idle")
    return efficiency(figures["beside"]) / efficiency(figures["before"])


def memory_growth(evidence: Evidence) -> float:
    early, late = evidence.scenario("growth")["bytes"]
    return float(late / early)


def refused(what: str) -> Callable[[Evidence], float]:
    def ratio(evidence: Evidence) -> float:
        figures = evidence.scenario("refusals")
        return efficiency(figures[what]) / efficiency(figures["accepted"])

    return ratio


GOALS = [
    Goal("requests per CPU-second, of nginx's constant", 0.8, of_peer("nginx")),
    Goal("… of FastAPI on uvicorn", 25, of_peer("fastapi"), unit=" ×"),
    Goal("… of the fastest mock", 10, of_fastest_mock, unit=" ×"),
    Goal("8192 bytes of ASCII, of nginx's constant", 0.5, of_nginx("sizes", "_ascii")),
    Goal(
        "8192 bytes of Cyrillic, of nginx's constant",
        0.4,
        of_nginx("sizes", "_cyrillic"),
    ),
    Goal("p99 at half the limit's rate, of nginx's", 2, steady_p99, False, " ×"),
    Goal("two workers on two cores, of one", 1.8, two_workers, unit=" ×"),
    Goal(
        "memory of an idle connection, of 10,000",
        4,
        kib_per_idle_connection,
        False,
        " KiB",
    ),
    Goal("32 busy connections beside 10,000 idle, of alone", 0.95, beside_idle),
    Goal(
        "memory after ten million requests, of after 100,000",
        1.02,
        memory_growth,
        False,
        " ×",
    ),
    *(
        Goal(f"refused ({what}), of accepted", 0.7, refused(what))
        for what in (
            "401, a mistyped key",
            "401, a made-up key",
            "404, another path",
            "400, an unknown field",
        )
    ),
    Goal("a fresh connection for every request, of nginx's", 0.5, of_nginx("fresh")),
]


def measure(names: list[str], pace: Pace, display: Display) -> None:
    """Run scenarios; each takes the place of its last result."""
    kept = not pace.quick
    file = Results("goals", {"rounds": pace.rounds, "seconds": pace.seconds}, kept)
    earlier = results.read("goals", kept).get("scenarios", {})
    file.data["scenarios"] = earlier
    stage = Stage(pace, display)
    display.expect(len(names))
    for name in names:
        display.begin(f"goal: {name}")
        row: dict[str, Any] = {"date": datetime.now(UTC).isoformat(timespec="seconds")}
        try:
            row["figures"] = SCENARIOS[name](stage)
        except (Absent, OSError) as reason:
            row["absent"] = str(reason)
            display.say(f"{name} could not be measured: {reason}")
        file.data["scenarios"][name] = row
        file.write()
        display.done()


def verdicts(kept: bool) -> Iterator[Verdict]:
    evidence = Evidence(kept)
    for goal in GOALS:
        try:
            value = goal.figure(evidence)
        except Absent as absent:
            yield Verdict(goal, "–", f"not measured: {absent}")
        else:
            word = "met" if goal.met_by(value) else "not met"
            yield Verdict(goal, f"{value:.3g}{goal.unit}", word)


def report(kept: bool) -> Iterator[str]:
    for verdict in verdicts(kept):
        goal = verdict.goal
        yield (
            f"{goal.what:<52} {goal.wanted:>16} {verdict.measured:>9}  {verdict.word}"
        )
