"""The servers that are compared, read from peers.toml."""

import tomllib
from dataclasses import dataclass, field

from bench.paths import BENCH

LIMIT = "limit"


@dataclass(frozen=True)
class Peer:
    """One entry of peers.toml, where the comment at the top explains the fields."""

    name: str
    title: str
    family: str
    install: str
    start: list[str]
    version: dict[str, object]
    program: str = ""
    package: str = ""
    files: list[str] = field(default_factory=list)
    prepare: list[list[str]] = field(default_factory=list)
    prints_key: bool = False
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def is_limit(self) -> bool:
        """Whether it returns a constant without looking at the request."""
        return self.family == LIMIT


def load_peers() -> dict[str, Peer]:
    with (BENCH / "peers.toml").open("rb") as file:
        entries = tomllib.load(file)["peer"]
    return {entry["name"]: Peer(**entry) for entry in entries}
