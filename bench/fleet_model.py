"""How large a fleet must be: arithmetic from measured figures, without measuring.

A `Demand` says what clients do, `Figures` what each piece of work costs, and `plan`
returns the `Fleet`. The formulas, in the names used below:

    requests of a key in a time t      n = rate / keys * t
    workers that see a key meanwhile   spread(n) = min(n, W * (1 - (1 - 1/W) ** n))
    rows per second                    keys * W * row_rate(rate / keys / W)
    refreshed keys per second          keys * spread(of IDLE_SECONDS) / ROUND_SECONDS
    CPU of the workers                 requests, refreshed keys, rows, writes and
                                       look-ups, each times its cost, and the idle cost
                                       of each worker
    replicas                           CPU * busiest / (utilisation * W), and spares

The balancer sends a key to one replica, and any of the replica's W workers may answer:
so each of them knows the key, asks about it and writes a row for it. Costs per request
depend on how busy a process is, because a busy one handles several requests each time
it wakes up; they are curves over the rate of one process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log, sqrt
from statistics import NormalDist
from typing import Any

from readback import config
from readback.api.data.database import EXPIRY_SECONDS, LOOK_UP_SECONDS
from readback.api.data.journal import ROUND_SECONDS
from readback.api.data.keyring import IDLE_SECONDS
from readback.api.data.store import (
    KEYS_PER_LOOK_UP,
    TALLIES_PER_TRANSACTION,
    TRIM_EVERY,
)
from readback.contract import JOURNAL_ROWS

SETTINGS = config.read({})
# Begin, lock the keys, usage, journal, last use, commit; the journal's trim is extra.
STATEMENTS_PER_WRITE = 6
DAY_SECONDS = 86_400

USUAL_KEY_RATE = 10
"""Requests per second with one key: half of what is allowed."""
# Assumptions about machines and networks, not about Readback.
MACHINE_CORES = 8
PACKET_BYTES = 120
"""Ethernet, IP and TCP for a packet and its acknowledgement, and a TLS record."""


class ImpossibleDemand(ValueError):
    """The limits of the service do not allow this; the message says why."""


@dataclass(frozen=True)
class Curve:
    """CPU-seconds per request over the requests per second of one process."""

    points: Sequence[tuple[float, float]]
    """Measured, in ascending order of the rate; the last one is at full load."""

    def at(self, rate: float) -> float:
        """Interpolate on a logarithmic scale of the rate; do not extrapolate."""
        points = list(self.points)
        if rate <= points[0][0]:
            return points[0][1]
        for (low, cost), (high, next_cost) in zip(points, points[1:], strict=False):
            if rate <= high:
                return cost + (next_cost - cost) * log(rate / low) / log(high / low)
        return points[-1][1]


@dataclass(frozen=True)
class Figures:
    """What was measured: times in CPU-seconds, sizes in bytes."""

    request: Curve
    worker_idle: float
    """Per second."""
    worker_refresh: float
    """Per known key and round."""
    worker_row: float
    worker_look_up: float
    database_idle: float
    """Per worker and second: one statement in each round."""
    database_refresh: float
    database_row: float
    database_look_up: float
    balancer_http: Curve
    balancer_http2: Curve
    balancer_handshake: float
    balancer_checks: float
    """Per second and replica: health checks, which nothing else has to do."""
    worker_checks: float
    """Per second, replica and balancer: the same checks on the other side."""
    worker_bytes: float
    key_bytes: float
    """Per key that a worker knows."""
    balancer_connection_bytes: float
    """Per idle client connection over TLS."""
    request_bytes: float
    response_bytes: float
    log_bytes: float
    """Per request, in the log of the balancer."""
    usage_row_bytes: float
    journal_row_bytes: float
    wal_row_bytes: float
    """Written to the write-ahead log for each row of the journal."""
    worker_write: float = 0.0
    """Per transaction that writes rows."""
    database_write: float = 0.0


@dataclass(frozen=True)
class Demand:
    """What clients do, and how the fleet is to be built."""

    rate: float
    """Requests per second."""
    keys: float
    """Keys in use, all with the same rate."""
    connections: float
    requests_per_connection: float = 100
    http2: bool = True
    """HTTP/2 over TLS to the balancer; otherwise plain HTTP/1.1."""
    workers: int = MACHINE_CORES
    """Per replica, one for each core."""
    hash_points: int = 16
    """Of a replica on the balancer's circle; see `busiest`."""
    utilisation: float = 0.6
    """Of the busiest replica, and of the balancers and PostgreSQL."""
    spares: int = 1
    """Replicas and balancers that may fail without effect."""

    @classmethod
    def usual(cls, rate: float, keys: float = 0, **options: Any) -> "Demand":
        """Return a demand in which all keys send ten requests a second."""
        keys = keys or max(1.0, rate / USUAL_KEY_RATE)
        return cls(rate, keys, connections=keys, **options)


@dataclass(frozen=True)
class Load:
    """The work that a demand causes, per second unless it says otherwise."""

    rows: float
    refreshes: float
    look_ups: float
    worker_cpu: float
    balancer_cpu: float
    database_cpu: float
    statements: float
    wal_bytes: float
    known_keys: float
    """Of one worker, on average."""
    outcomes: float
    """Of one worker, on average: how many go on."""


@dataclass(frozen=True)
class Fleet:
    """The answer."""

    demand: Demand
    load: Load
    replicas: int
    """With the spare ones."""
    balancers: int
    """Machines with MACHINE_CORES cores, with the spare ones."""
    balancer_cores: float
    database_cores: float
    replica_bytes: float
    balancer_bytes: float
    bits_in: float
    bits_out: float
    usage_bytes: float
    """When READBACK_USAGE_DAYS have passed."""
    usage_rows_per_day: float
    journal_bytes: float
    noticed_seconds: float
    """How long a revoked key may still be accepted."""
    busiest: float
    """The load of the busiest replica, relative to the average."""
    check_cores: float
    """Of each balancer, for health checks of all replicas."""

    @property
    def workers(self) -> int:
        return self.replicas * self.demand.workers


def spread(requests: float, workers: int) -> float:
    """Return how many of the workers receive at least one of the requests.

    Each is sent to any worker. Of less than one request, the number is a probability.
    """
    reached: float = workers * (1 - (1 - 1 / workers) ** requests)
    return min(requests, reached)


def row_rate(rate: float) -> float:
    """Return the rows per second that a worker writes for a key with equal requests.

    The key sends it `rate` requests a second. In the long run, each request has a row
    of its own, or else each interval.
    """
    return min(rate, 1 / SETTINGS.journal_interval)


def busiest(replicas: float, points: int, keys: float) -> float:
    """Return the expected load of the busiest replica, relative to the average.

    Each replica owns the arcs before `points` random points of a circle, so shares
    follow a Dirichlet distribution; with few keys, chance adds to it. The largest of
    several normal deviations is the quantile of Blom's formula.
    """
    deviation = sqrt((replicas - 1) / (replicas * points + 1) + (replicas - 1) / keys)
    largest = NormalDist().inv_cdf((replicas - 0.375) / (replicas + 0.25))
    return 1 + largest * deviation


def load(figures: Figures, demand: Demand, replicas: float) -> Load:
    """Return the work of a demand on this many replicas, without spare ones.

    Health checks are those of one balancer; others add little as long as the checks
    themselves do not reach their limit.
    """
    per_key, workers = demand.rate / demand.keys, replicas * demand.workers
    rounds = 1 / ROUND_SECONDS
    at_worker = per_key / demand.workers
    rows = demand.keys * demand.workers * row_rate(at_worker)
    known = demand.keys * spread(per_key * IDLE_SECONDS, demand.workers) / workers
    refreshes = known * workers * rounds
    look_ups = demand.rate * _unknown_share(per_key, demand.workers)
    rows_per_round = rows * ROUND_SECONDS / workers
    writes = workers * _writes(rows_per_round) * rounds
    in_interval = at_worker * SETTINGS.journal_interval
    going_on = demand.keys * demand.workers * min(in_interval, 1 - exp(-in_interval))
    curve = figures.balancer_http2 if demand.http2 else figures.balancer_http
    return Load(
        rows=rows,
        refreshes=refreshes,
        look_ups=look_ups,
        worker_cpu=demand.rate * figures.request.at(demand.rate / workers)
        + refreshes * figures.worker_refresh
        + rows * figures.worker_row
        + writes * figures.worker_write
        + look_ups * figures.worker_look_up
        + workers * figures.worker_idle
        + replicas * figures.worker_checks,
        balancer_cpu=_balancer_cpu(figures, demand, curve)
        + replicas * figures.balancer_checks,
        database_cpu=workers * figures.database_idle
        + refreshes * figures.database_refresh
        + rows * figures.database_row
        + writes * figures.database_write
        + look_ups * figures.database_look_up,
        statements=workers * _statements_of_worker(known, rows_per_round)
        + min(look_ups, workers / LOOK_UP_SECONDS),
        wal_bytes=rows * figures.wal_row_bytes,
        known_keys=known,
        outcomes=going_on / workers,
    )


def plan(figures: Figures, demand: Demand) -> Fleet:
    """Return the fleet for a demand; raise `ImpossibleDemand` if there is none."""
    _check(demand)
    replicas, found = _replicas(figures, demand)
    uneven = busiest(replicas, demand.hash_points, demand.keys)
    known = found.known_keys * uneven
    cores = found.balancer_cpu / demand.utilisation
    sizes = figures.request_bytes + PACKET_BYTES, figures.response_bytes + PACKET_BYTES
    usage_rows_per_day = demand.keys * 24
    refresh_seconds = known * (
        figures.worker_refresh / (1 - demand.utilisation) + figures.database_refresh
    )
    return Fleet(
        demand=demand,
        load=found,
        replicas=replicas + demand.spares,
        balancers=ceil(cores / MACHINE_CORES) + demand.spares,
        balancer_cores=cores,
        database_cores=found.database_cpu / demand.utilisation,
        replica_bytes=demand.workers
        * (figures.worker_bytes + known * figures.key_bytes),
        balancer_bytes=demand.connections * figures.balancer_connection_bytes,
        bits_in=8 * demand.rate * sizes[0],
        bits_out=8 * demand.rate * sizes[1],
        usage_rows_per_day=usage_rows_per_day,
        usage_bytes=usage_rows_per_day * SETTINGS.usage_days * figures.usage_row_bytes,
        journal_bytes=demand.keys
        * (JOURNAL_ROWS + TRIM_EVERY * demand.workers)
        * figures.journal_row_bytes,
        noticed_seconds=ROUND_SECONDS + refresh_seconds,
        busiest=uneven,
        check_cores=replicas * figures.balancer_checks / demand.utilisation,
    )


def _check(demand: Demand) -> None:
    if demand.rate <= 0 or demand.keys <= 0:
        raise ImpossibleDemand("The rate and the number of keys must be above 0.")
    if demand.rate / demand.keys > SETTINGS.key_rate:
        needed = ceil(demand.rate / SETTINGS.key_rate)
        raise ImpossibleDemand(
            f"A key may send {SETTINGS.key_rate} requests per second, so "
            f"{demand.rate:,.0f} requests per second need at least {needed:,} keys."
        )


def _replicas(figures: Figures, demand: Demand) -> tuple[int, Load]:
    """Return the smallest number of replicas that is not too busy, and its load."""
    replicas, capacity = 1, demand.utilisation * demand.workers
    while True:
        found = load(figures, demand, replicas)
        uneven = busiest(replicas, demand.hash_points, demand.keys)
        needed = ceil(found.worker_cpu * uneven / capacity)
        if needed <= replicas:
            return replicas, found
        replicas = needed


def _balancer_cpu(figures: Figures, demand: Demand, curve: Curve) -> float:
    """Return the CPU of balancers that are as busy as demanded."""
    new = demand.rate / demand.requests_per_connection
    handshakes = new * figures.balancer_handshake if demand.http2 else 0.0
    cores = 1
    while True:
        cpu = demand.rate * curve.at(demand.rate / cores) + handshakes
        needed = ceil(cpu / demand.utilisation)
        if needed <= cores:
            return cpu
        cores = needed


def _statements_of_worker(known: float, rows: float) -> float:
    """Return the statements of a worker per second."""
    refresh = max(1, ceil(known / KEYS_PER_LOOK_UP))
    writes = _writes(rows)
    per_write = rows / writes if writes else 0.0
    # A key's journal is trimmed after every TRIM_EVERY rows, all due ones at once.
    trim: float = 1 - (1 - 1 / TRIM_EVERY) ** per_write
    per_round = refresh + writes * (STATEMENTS_PER_WRITE + trim)
    return per_round / ROUND_SECONDS + 1 / EXPIRY_SECONDS


def _writes(rows: float) -> float:
    """Return in how many transactions a worker writes this many rows of a round.

    Rows are due at random, so there may be rounds without any.
    """
    if rows > TALLIES_PER_TRANSACTION:
        return ceil(rows / TALLIES_PER_TRANSACTION)
    return 1 - exp(-rows)


def _unknown_share(per_key: float, workers: int) -> float:
    """Return the share of requests whose key the worker does not know (any more)."""
    meanwhile = per_key * IDLE_SECONDS
    return float((1 - 1 / workers) ** meanwhile) if meanwhile >= 1 else 1.0
