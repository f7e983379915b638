"""What may run out: how far a fleet is from each limit of one installation.

`fleet_model.py` computes the fleet; nothing here is needed for that.
"""

import inspect
from dataclasses import dataclass, replace
from math import ceil, inf, sqrt
from typing import Any

from bench.fleet_model import MACHINE_CORES, Demand, Figures, Fleet, plan
from readback.api.data.journal import MAX_TALLIES
from readback.api.shared.created import Limiter

KEY_SLOTS: int = inspect.signature(Limiter).parameters["slots"].default
# Assumptions about machines, not about Readback.
DATABASE_CORES = 32
"""The largest machine for PostgreSQL that is counted on."""
DATABASE_CONNECTIONS = 100
"""The default of PostgreSQL's max_connections."""
NETWORK_BITS = 10e9
"""Per machine."""


@dataclass(frozen=True)
class Limit:
    """Something of which there is a fixed amount, and how much of it is needed."""

    name: str
    needed: float
    available: float

    @property
    def share(self) -> float:
        return self.needed / self.available


def limits_of(fleet: Fleet) -> list[Limit]:
    """Return what may run out."""
    demand, load = fleet.demand, fleet.load
    in_use = fleet.replicas - demand.spares
    bits = fleet.bits_in + fleet.bits_out
    outcomes = load.outcomes * fleet.busiest
    keys = demand.keys / in_use * fleet.busiest
    return [
        Limit("CPU of one PostgreSQL", fleet.database_cores, DATABASE_CORES),
        Limit("connections of PostgreSQL", fleet.workers, DATABASE_CONNECTIONS),
        Limit("CPU of one balancer", fleet.balancer_cores, MACHINE_CORES),
        Limit("network of one balancer", bits, NETWORK_BITS),
        Limit("health checks of one balancer", fleet.check_cores, MACHINE_CORES),
        Limit("a second to notice a change", fleet.noticed_seconds, 1.0),
        Limit("outcomes that go on in a worker", outcomes, MAX_TALLIES),
        Limit("keys of a replica", keys, KEY_SLOTS),
    ]


def cells(figures: Figures, demand: Demand) -> int:
    """Return into how many equal parts a demand must be split for its PostgreSQL."""
    number = 1
    while True:
        cores = plan(figures, part(demand, number)).database_cores
        if cores <= DATABASE_CORES:
            return number
        number = max(number + 1, ceil(number * cores / DATABASE_CORES))


def part(demand: Demand, number: int) -> Demand:
    """Return one of several equal parts of a demand."""
    return replace(
        demand,
        rate=demand.rate / number,
        keys=demand.keys / number,
        connections=demand.connections / number,
    )


def largest_rate(figures: Figures, limit: str, **options: Any) -> float:
    """Return the rate of the usual demand at which a limit is reached."""

    def share(rate: float) -> float:
        fleet = plan(figures, Demand.usual(rate, **options))
        return next(each.share for each in limits_of(fleet) if each.name == limit)

    low, high = 1.0, 1e9
    if share(high) < 1:
        return inf
    while high / low > 1.01:
        middle = sqrt(low * high)
        low, high = (middle, high) if share(middle) < 1 else (low, middle)
    return low
