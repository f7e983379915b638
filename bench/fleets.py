"""How large a fleet must be: arithmetic from costs that were measured once.

`results/costs.json` has what a request, a known key and a row cost a worker, HAProxy
and PostgreSQL. The balancer sends a key to one replica, and each of its workers answers
some of the key's requests. So each of these workers refreshes the key in every round
and writes its own rows for it. The load of the database follows from the number of keys
and of the workers that know them, not from the number of requests.
"""

from dataclasses import dataclass
from math import ceil, exp, sqrt
from statistics import NormalDist

from bench import render, results
from bench.paths import ROOT
from readback import config
from readback.api.data.store import TALLIES_PER_TRANSACTION
from readback.contract import JOURNAL_ROWS
from readback.processes.worker import TICK_SECONDS

PAGE = ROOT / "docs" / "performance.md"
SIZES = {"20,000/s": (20_000, 1), "1,000,000/s": (1_000_000, 8)}
"""Requests per second and workers of a replica."""
SETTINGS = config.read({})
KEY_RATE = 10
"""Requests per second with one key: half of what is allowed."""

# Assumptions about machines, not about Readback.
BUSY = 0.6
"""How busy replicas, balancers and PostgreSQL may be."""
BALANCER_CORES = 8
REQUESTS_PER_CONNECTION = 100
HASH_POINTS = 1_600
"""Of a replica on the balancer's circle: 16 times the weight in haproxy.cfg."""
PACKET_BYTES = 120
"""Ethernet, IP and TCP for a packet and its acknowledgement, and a TLS record."""
DATABASE_CORES = 32
"""The largest machine for PostgreSQL that is counted on."""
DATABASE_CONNECTIONS = 100
"""The default of PostgreSQL's max_connections."""
NETWORK_BITS = 10e9
"""Per machine."""

# What may run out, and what to do then.
NEXT_STEPS = {
    "CPU of one balancer": "more balancers with the same file",
    "connections of PostgreSQL": "raise `max_connections`, or use PgBouncer (tested)",
    "network of one balancer": "more balancers with the same file",
    "CPU of one PostgreSQL": "one worker per replica; then several installations",
}


class ImpossibleDemand(ValueError):
    """The limits of the service do not allow this; the message says why."""


@dataclass(frozen=True)
class Costs:
    """Times in CPU-seconds, sizes in bytes; docs/performance.md explains them."""

    worker_request: float
    worker_idle: float
    """Per worker and second."""
    worker_refresh: float
    """Per known key and round."""
    worker_row: float
    worker_write: float
    """Per transaction that writes rows."""
    database_idle: float
    database_refresh: float
    database_row: float
    database_write: float
    balancer_request: float
    balancer_handshake: float
    worker_bytes: float
    key_bytes: float
    request_bytes: float
    response_bytes: float
    usage_row_bytes: float
    journal_row_bytes: float
    wal_row_bytes: float


@dataclass(frozen=True)
class Fleet:
    """The answer, with one spare replica and one spare balancer."""

    rate: float
    keys: float
    workers: int
    """Of one replica; each has a core."""
    replicas: int
    balancers: int
    balancer_cores: float
    database_cores: float
    rows: float
    """Per second."""
    wal_bytes: float
    replica_bytes: float
    network_bits: float
    usage_bytes: float
    journal_bytes: float
    noticed_seconds: float
    """How long a revoked key may still be accepted."""

    def used(self) -> dict[str, float]:
        """Return the share of each limit that is used."""
        connections = self.replicas * self.workers
        return {
            "CPU of one balancer": self.balancer_cores / BALANCER_CORES,
            "connections of PostgreSQL": connections / DATABASE_CONNECTIONS,
            "network of one balancer": self.network_bits / NETWORK_BITS,
            "CPU of one PostgreSQL": self.database_cores / DATABASE_CORES,
        }


def plan(costs: Costs, rate: float, workers: int, keys: float = 0) -> Fleet:
    """Return the fleet for a number of requests per second; all keys send equally."""
    keys = keys or max(1.0, rate / KEY_RATE)
    if rate / keys > SETTINGS.key_rate:
        needed = ceil(rate / SETTINGS.key_rate)
        raise ImpossibleDemand(
            f"A key may send {SETTINGS.key_rate} requests per second, so "
            f"{rate:,.0f} requests per second need at least {needed:,} keys."
        )
    # Each worker that knows a key writes a row for it in each interval.
    rows = keys * min(rate / keys, workers / SETTINGS.journal_interval)
    refreshes = keys * workers / TICK_SECONDS
    replicas = 1
    while True:
        number = replicas * workers
        writes = number * _transactions(rows * TICK_SECONDS / number) / TICK_SECONDS
        cpu = (
            rate * costs.worker_request
            + refreshes * costs.worker_refresh
            + rows * costs.worker_row
            + writes * costs.worker_write
            + number * costs.worker_idle
        )
        uneven = busiest(replicas, keys)
        needed = ceil(cpu * uneven / (BUSY * workers))
        if needed <= replicas:
            break
        replicas = needed
    database = (
        number * costs.database_idle
        + refreshes * costs.database_refresh
        + rows * costs.database_row
        + writes * costs.database_write
    )
    new_connections = rate / REQUESTS_PER_CONNECTION
    balancer = (
        rate * costs.balancer_request + new_connections * costs.balancer_handshake
    )
    known = keys / replicas * uneven
    refresh_seconds = costs.worker_refresh / (1 - BUSY) + costs.database_refresh
    exchange = costs.request_bytes + costs.response_bytes + 2 * PACKET_BYTES
    return Fleet(
        rate=rate,
        keys=keys,
        workers=workers,
        replicas=replicas + 1,
        balancers=ceil(balancer / BUSY / BALANCER_CORES) + 1,
        balancer_cores=balancer / BUSY,
        database_cores=database / BUSY,
        rows=rows,
        wal_bytes=rows * costs.wal_row_bytes,
        replica_bytes=workers * (costs.worker_bytes + known * costs.key_bytes),
        network_bits=8 * rate * exchange,
        usage_bytes=keys * 24 * SETTINGS.usage_days * costs.usage_row_bytes,
        journal_bytes=keys * JOURNAL_ROWS * costs.journal_row_bytes,
        noticed_seconds=TICK_SECONDS + known * refresh_seconds,
    )


def busiest(replicas: int, keys: float) -> float:
    """Return the expected load of the busiest replica, relative to the average.

    Each replica owns the arcs before some random points of a circle, so the shares
    follow a Dirichlet distribution; with few keys, chance adds to it. The largest of
    several normal deviations is the quantile of Blom's formula.
    """
    others = replicas - 1
    deviation = sqrt(others / (replicas * HASH_POINTS + 1) + others / keys)
    largest = NormalDist().inv_cdf((replicas - 0.375) / (replicas + 0.25))
    return 1 + largest * deviation


def _transactions(rows: float) -> float:
    """Return in how many transactions a worker writes the rows of a round."""
    if rows > TALLIES_PER_TRANSACTION:
        return ceil(rows / TALLIES_PER_TRANSACTION)
    return 1 - exp(-rows)  # there may be rounds without any


def measured_costs() -> Costs:
    return Costs(**results.read("costs")["costs"])


def write() -> None:
    """Write the tables of docs/performance.md."""
    costs = measured_costs()
    fleets = {name: plan(costs, *size) for name, size in SIZES.items()}
    render.replace_section(PAGE, "fleets", table(fleets))
    render.replace_section(PAGE, "limits", limits(costs, fleets))


def table(fleets: dict[str, Fleet]) -> str:
    columns = [_cells(fleet) for fleet in fleets.values()]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    return render.table(["", *fleets], rows)


def limits(costs: Costs, fleets: dict[str, Fleet]) -> str:
    """Return what is reached at which rate, the first limit first."""
    reached = {name: _reached(costs, name) for name in NEXT_STEPS}
    rows = [
        [
            name,
            f"{render.rounded(reached[name])}/s",
            *(render.percentage(fleet.used()[name]) for fleet in fleets.values()),
            NEXT_STEPS[name],
        ]
        for name in sorted(NEXT_STEPS, key=lambda name: reached[name])
    ]
    return render.table(["limit", "reached at", *fleets, "then"], rows)


def _reached(costs: Costs, limit: str) -> float:
    """Return the rate at which replicas with eight workers reach a limit."""
    low = 1.0
    high = 1e9
    while high / low > 1.01:
        middle = sqrt(low * high)
        below = plan(costs, middle, workers=8).used()[limit] < 1
        low, high = (middle, high) if below else (low, middle)
    return low


def _cells(fleet: Fleet) -> dict[str, str]:
    return {
        "keys in use": f"{fleet.keys:,.0f}",
        "replicas, one of them spare": f"{fleet.replicas:,}",
        "workers and cores of each": f"{fleet.workers}",
        "memory of a replica": _size(fleet.replica_bytes),
        "HAProxy machines of 8 cores, one spare": f"{fleet.balancers:,}",
        "PostgreSQL: rows per second": f"{fleet.rows:,.0f}",
        "PostgreSQL: cores": f"{fleet.database_cores:,.2g}",
        "PostgreSQL: write-ahead log": f"{_size(fleet.wal_bytes)}/s",
        "network to clients, both ways": f"{fleet.network_bits / 1e9:.2g} Gbit/s",
        f"usage after {SETTINGS.usage_days} days": _size(fleet.usage_bytes),
        "journals": _size(fleet.journal_bytes),
        "a change is noticed within": f"{fleet.noticed_seconds:.2g} s",
    }


def _size(count: float) -> str:
    """Format a number of bytes."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:,.3g} GiB"
