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
    counted_requests: int
    """Requests while the instructions of a server are counted."""


FULL = Plan(
    quick=False,
    # An odd number, because the speed of a process depends on its memory addresses.
    rounds=5,
    seconds=2,
    # Meanwhile, the first rows of new keys are written.
    warm_up_seconds=2,
    counted_requests=960,
)
# Shows within a minute or two that everything works; its figures mean nothing.
QUICK = Plan(
    quick=True,
    rounds=1,
    seconds=1,
    warm_up_seconds=1,
    counted_requests=320,
)
