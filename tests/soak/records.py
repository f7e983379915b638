"""Records of an imaginary soak in which nothing went wrong, for tests to change."""

from dataclasses import dataclass, field
from uuid import uuid4

from soak.records import (
    Checkpoint,
    ClientConnection,
    Kill,
    Observation,
    Outage,
    Reload,
    Sample,
    Scene,
    Seen,
)
from soak.verdicts import Judgement, judge

ECHO, LOST, UNAVAILABLE = range(3)
OUTCOMES = [
    ("chat", ""),
    ("chat", "lost"),
    ("chat", "unavailable"),
]
OWN_KEY = 4
NOW = 1_800_000_000
MIB = 2**20


@dataclass
class Story:
    """A soak of 100 seconds; the monotonic clock starts at 0, the wall clock at NOW.

    Only the samples go on for longer, because memory is watched for half an hour.
    """

    rows: list[Observation] = field(default_factory=list)
    connections: list[ClientConnection] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    worker_memory: list[int] = field(default_factory=lambda: [40 * MIB] * 100)
    sampled_every: float = 30.0
    uncounted: int = 0
    unwritten: int = 0
    uncounted_connections: int = 0
    replaced: bool = True
    exit_error: str = ""

    def connect(self, port: int, opened: float, closed: float) -> int:
        self.connections.append(ClientConnection(port, opened, 0.0, closed))
        return len(self.connections) - 1

    def ask(
        self, at: float, connection=0, key=OWN_KEY, outcome=ECHO, created=0, takes=0.01
    ) -> None:
        created = created or (NOW + int(at) if outcome == ECHO else 0)
        id_ = uuid4().bytes
        times = (at, at + takes)
        self.rows.append(Observation(*times, connection, created, key, outcome, id_))

    def judge(self) -> Judgement:
        self.rows.sort(key=lambda row: row.received)
        seen = Seen(
            self.rows, self.connections, OUTCOMES, self.wrong, self.refused, 1000
        )
        scene = Scene(started=0.0, wall_offset=NOW, ended=100.0, calm_since=80.0)
        scene.reloads = [Reload(10.0, self.replaced)]
        scene.kills = self.kills
        scene.outages = self.outages
        scene.samples = [
            Sample(at * self.sampled_every, 0, {1: size}, 30 * MIB)
            for at, size in enumerate(self.worker_memory)
        ]
        scene.checkpoints = [self._checkpoint(50.0), self._checkpoint(100.0)]
        scene.leaks = self.leaks
        scene.exit_error = self.exit_error
        return judge(seen, scene)

    def broken(self) -> list[str]:
        """Return the first words of the broken promises."""
        return [" ".join(v.promise.split()[:4]) for v in self.judge().broken]

    def _checkpoint(self, at: float) -> Checkpoint:
        """Count requests as the service does; the last count omits `uncounted`."""
        answered = [
            row for row in self.rows if row.received <= at and row.outcome != LOST
        ]
        requests: dict[tuple[str, str], int] = {}
        usage: dict[tuple[int, str, str], int] = {}
        for row in answered:
            cell = OUTCOMES[row.outcome]
            requests[cell] = requests.get(cell, 0) + 1
            if row.outcome != UNAVAILABLE:
                usage[(row.key, *cell)] = usage.get((row.key, *cell), 0) + 1
        opened = sum(each.opened <= at for each in self.connections)
        if at == 100.0:
            requests["chat", ""] -= self.uncounted
            if self.unwritten:
                usage[OWN_KEY, "chat", ""] -= self.unwritten
            opened -= self.uncounted_connections
        return Checkpoint(at, requests, usage, opened)


def good_story() -> Story:
    """Return a soak with one request a second on one connection."""
    story = Story()
    story.connect(50_000, opened=0.0, closed=100.0)
    for second in range(1, 99):
        story.ask(float(second))
    return story
