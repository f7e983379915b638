"""The records of the clients and the runner, and the files that the clients write.

A record says what was seen; `verdicts.py` judges it. All times are those of the
machine's monotonic clock, which all processes share.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

PATIENCE = 15.0
"""Seconds after which a request without an answer is lost."""
RECOVERY_SECONDS = 5.0
"""How long the service may take to notice that the database is back."""
LOST = "lost"
"""The code of a request that was sent and got no answer."""

_ROW = struct.Struct("<ddIIhH16s")
_NO_ID = bytes(16)


class Observation(NamedTuple):
    """One request and its answer."""

    sent: float
    received: float
    """When the answer was complete, or it was certain that none would come."""
    connection: int
    created: int
    key: int
    outcome: int
    """The index of the endpoint and code in `Seen.outcomes`."""
    id: bytes


@dataclass
class ClientConnection:
    """One connection to the service."""

    port: int
    """The client's port as the service sees it."""
    opened: float
    delay: float
    """How long a byte takes in each direction, in seconds."""
    closed: float = inf


@dataclass
class Seen:
    """Everything that the clients have seen."""

    observations: list[Observation]
    connections: list[ClientConnection]
    outcomes: list[tuple[str, str]]
    wrong: list[str]
    """A description of each wrong answer."""
    refused_connections: list[str]
    code_points: int


@dataclass
class Kill:
    """A worker that was killed, and the connections that it held."""

    at: float
    ports: list[int]


@dataclass
class Outage:
    """The database was away from `start` to `end`."""

    kind: str
    start: float
    end: float = 0.0
    noticed: bool = False
    """Whether the service counted an error during the outage."""

    def covers(self, at: float) -> bool:
        """Return whether the service may have been without a database then."""
        return self.start <= at <= self.end + RECOVERY_SECONDS


@dataclass
class Reload:
    at: float
    replaced: bool = False
    """Whether all earlier workers had been replaced by the next reload."""


@dataclass
class Sample:
    """What was measured once a second."""

    at: float
    answered: int
    workers: dict[int, int]
    """The private memory of each worker in bytes, by process id."""
    manager: int
    """The private memory of their manager."""


@dataclass
class Checkpoint:
    """All counts of the service at a moment when no request was under way."""

    at: float
    requests: dict[tuple[str, str], int]
    """`readback_requests_total` by endpoint and code."""
    usage: dict[tuple[int, str, str], int]
    """The rows of usage by the key's number, endpoint and code."""
    connections: int
    """`readback_connections_total`."""


@dataclass
class Scene:
    """What was done to the service, and what was found at the end."""

    started: float
    wall_offset: float
    """The wall clock minus the monotonic clock."""
    ended: float = 0.0
    calm_since: float = 0.0
    """When the last step of the schedule was done."""
    reloads: list[Reload] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    """Places in which a text or a key was found."""
    searched_bytes: int = 0
    exit_error: str = ""
    interrupted: bool = False


class Recorder:
    """Writes the records of the clients into a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: BinaryIO = (folder / "observations").open("wb", 1 << 20)
        self._outcomes: dict[tuple[str, str], int] = {}
        self._connections: list[ClientConnection] = []
        self.wrong: list[str] = []
        self.refused_connections: list[str] = []
        self.answered = 0
        self.lost = 0

    def add(self, connection: ClientConnection) -> int:
        """Add a connection, whose end is set later; return its number."""
        self._connections.append(connection)
        return len(self._connections) - 1

    def note(
        self,
        times: tuple[float, float],
        connection: int,
        key: int,
        outcome: tuple[str, str],
        created: int = 0,
        id_: bytes = _NO_ID,
    ) -> None:
        number = self._outcomes.setdefault(outcome, len(self._outcomes))
        lost = outcome[1] == LOST
        self.lost += lost
        self.answered += not lost
        self._rows.write(_ROW.pack(*times, connection, created, key, number, id_))

    def finish(self, code_points: int) -> None:
        self._rows.close()
        rest = {
            "connections": [asdict(each) for each in self._connections],
            "outcomes": list(self._outcomes),
            "wrong": self.wrong,
            "refused_connections": self.refused_connections,
            "code_points": code_points,
        }
        (self._folder / "rest.json").write_text(json.dumps(rest), encoding="utf-8")


def read(folder: Path) -> Seen:
    """Return what a recorder has written."""
    rest: dict[str, Any] = json.loads((folder / "rest.json").read_text("utf-8"))
    return Seen(
        observations=list(_rows((folder / "observations").read_bytes())),
        connections=[ClientConnection(**each) for each in rest["connections"]],
        outcomes=[(endpoint, code) for endpoint, code in rest["outcomes"]],
        wrong=rest["wrong"],
        refused_connections=rest["refused_connections"],
        code_points=rest["code_points"],
    )


def _rows(data: bytes) -> Iterator[Observation]:
    return map(Observation._make, _ROW.iter_unpack(data))
