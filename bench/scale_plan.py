"""How long and with how many keys a fleet is measured: in full, or as a trial."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ScalePlan:
    seconds: int
    """Duration of a measurement."""
    rates: tuple[int, ...]
    """Of the curves; 0 is as many as are answered."""
    known_keys: int
    row_keys: tuple[int, int]
    """Rows in a transaction: many, and a few, which tell what the transaction costs."""
    row_rates: tuple[int, int]
    """At least two requests per second and key: one in every round."""
    row_seconds: int
    """A multiple of ten: with a row in every round, each key is trimmed that often."""
    warm_up_seconds: int
    """Until outcomes that go on are written at the longest interval."""
    fleet_seconds: int
    """A multiple of that interval."""
    fleet_keys: int
    fleet_rate: int
    idle_connections: int


FULL = ScalePlan(
    seconds=5,
    rates=(200, 600, 2_000, 0),
    known_keys=20_000,
    row_keys=(5, 300),
    row_rates=(200, 900),
    row_seconds=20,
    warm_up_seconds=30,
    fleet_seconds=20,
    fleet_keys=200,
    fleet_rate=600,
    idle_connections=500,
)
# Shows that the measurement works; its figures mean nothing.
QUICK = ScalePlan(
    seconds=1,
    rates=(500, 0),
    known_keys=1_000,
    row_keys=(5, 50),
    row_rates=(200, 200),
    row_seconds=2,
    warm_up_seconds=3,
    fleet_seconds=2,
    fleet_keys=60,
    fleet_rate=300,
    idle_connections=20,
)
