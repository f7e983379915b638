"""How long and how often things are measured: the full run and the quick one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    quick: bool
    rounds: int
    seconds: int
    """Of each measurement."""
    warm_seconds: int
    """Before each: caches fill, and what compiles while it runs does so."""
    idle_connections: int
    few_requests: int
    many_requests: int


FULL = Pace(
    quick=False,
    rounds=3,
    seconds=3,
    warm_seconds=2,
    idle_connections=10_000,
    few_requests=100_000,
    many_requests=10_000_000,
)
# Shows within a minute or two that everything works; its figures mean nothing.
QUICK = Pace(
    quick=True,
    rounds=1,
    seconds=1,
    warm_seconds=1,
    idle_connections=1_000,
    few_requests=10_000,
    many_requests=100_000,
)
