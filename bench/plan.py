"""How long and how often to measure: the full run and the quick one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    quick: bool
    rounds: int
    seconds: int
    """Duration of each measurement."""
    warm_up_seconds: int
    """Load before each measurement, to fill caches and let JIT compilers finish."""
    steady_rounds: int
    """Number of rounds in which latency is measured."""
    steady_seconds: int


FULL = Plan(
    quick=False,
    # Odd, for the median: the speed of a process depends on its memory addresses.
    rounds=5,
    seconds=2,
    # Readback writes the first rows of new keys during this time.
    warm_up_seconds=2,
    steady_rounds=3,
    steady_seconds=3,
)
# Shows within a minute or two that everything works; its figures mean nothing.
QUICK = Plan(
    quick=True,
    rounds=1,
    seconds=1,
    warm_up_seconds=1,
    steady_rounds=1,
    steady_seconds=1,
)
