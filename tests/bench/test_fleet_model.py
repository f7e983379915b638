"""The arithmetic of fleets: cases computed by hand, limits, and what must not fall."""

import random
from dataclasses import replace
from math import exp, inf, isclose

import pytest
from bench import fleet_limits, fleet_model, scale_costs
from bench.fleet_limits import cells
from bench.fleet_model import Curve, Demand, Figures, ImpossibleDemand, plan

from readback.api.data.journal import ROUND_SECONDS, Event, Journal
from readback.api.shared.memory import Counters

# Round numbers, so that the expected values can be computed by hand.
FIGURES = Figures(
    request=Curve([(1_000, 40e-6), (100_000, 20e-6)]),
    worker_idle=0.001,
    worker_refresh=10e-6,
    worker_row=100e-6,
    worker_look_up=50e-6,
    database_idle=0.001,
    database_refresh=5e-6,
    database_row=200e-6,
    database_look_up=50e-6,
    balancer_http=Curve([(1_000, 20e-6)]),
    balancer_http2=Curve([(1_000, 30e-6)]),
    balancer_handshake=1e-3,
    balancer_checks=2e-3,
    worker_checks=3e-3,
    worker_bytes=50e6,
    key_bytes=1_000,
    balancer_connection_bytes=20_000,
    request_bytes=300,
    response_bytes=500,
    log_bytes=150,
    usage_row_bytes=150,
    journal_row_bytes=200,
    wal_row_bytes=1_000,
)
RATES = [10.0**power for power in range(1, 9)]


def test_a_fleet_of_one_worker_is_computed_as_by_hand():
    # 100 keys with 10 requests a second each.
    found = fleet_model.load(FIGURES, Demand(1_000, 100, 100, workers=1), 1)

    assert isclose(found.rows, 10)  # one for each key in ten seconds
    assert found.refreshes == 200
    assert found.known_keys == 100
    assert isclose(found.outcomes, 100)
    # 1,000 × 40 µs, 200 × 10 µs, 10 × 100 µs, 1 ms, and the checks.
    assert isclose(found.worker_cpu, 0.040 + 0.002 + 0.001 + 0.001 + 0.003)
    # 1 ms, 200 × 5 µs, 10 × 200 µs.
    assert isclose(found.database_cpu, 0.001 + 0.001 + 0.002)
    # 1,000 × 30 µs, 10 new connections with 1 ms each, and the checks.
    assert isclose(found.balancer_cpu, 0.030 + 0.010 + 0.002)
    assert isclose(found.wal_bytes, 10_000)
    # Twice a second: one to refresh, six to write five rows, and often a trim; and one
    # in 30 seconds deletes unmatched requests.
    written = 1 - exp(-5)  # almost always
    trim = 1 - 0.95 ** (5 / written)
    assert isclose(found.statements, 2 * (1 + written * (6 + trim)) + 1 / 30)


def test_each_worker_that_sees_a_key_asks_about_it_and_writes_a_row():
    # One request a second to each of four workers.
    found = fleet_model.load(FIGURES, Demand(400, 100, 100, workers=4), 1)

    assert isclose(found.rows, 100 * 4 / 10, rel_tol=0.001)
    # In a minute, all four see it.
    assert isclose(found.known_keys, 100, rel_tol=1e-6)
    assert isclose(found.refreshes, 100 * 4 * 2, rel_tol=1e-6)


def test_a_key_that_is_rarely_used_is_looked_up_each_time():
    hourly = Demand(rate=10, keys=36_000, connections=1, workers=1)

    found = fleet_model.load(FIGURES, hourly, 1)

    assert found.look_ups == 10
    assert isclose(found.rows, 10, rel_tol=0.001)


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.3, 0.5, 1, 10])
def test_rows_are_predicted_as_the_journal_closes_them(rate):
    chance, journal = random.Random(1), Journal(Counters(1).row(0))
    event = Event(b"key", "chat", 200, "", "", "", "")
    # In simulated seconds.
    now, next_request, seconds, rows = 0.0, 0.0, 15_000, 0
    while now < seconds:
        now += ROUND_SECONDS
        while next_request < now:
            journal.note(event, 0, 0)
            next_request += chance.expovariate(rate)
        journal.close(now, now)
        rows += len(journal.fetch(lambda digest, advance: 0))
    assert isclose(rows / seconds, fleet_model.row_rate(rate), rel_tol=0.3)


@pytest.mark.parametrize("replicas", [1, 3, 1_000])
def test_more_points_on_the_circle_even_out_the_replicas(replicas):
    few, many = (fleet_model.busiest(replicas, points, 1e6) for points in (16, 1_600))

    assert 1 <= many <= few <= 2


def test_the_busiest_of_forty_replicas_is_as_haproxy_makes_it():
    # HAProxy 2.6 gave 5,000 keys to 40 servers: 1.60 times the average for the busiest
    # one with the default weight, and 1.23 times with a weight of 100.
    assert isclose(fleet_model.busiest(40, 16, 5_000), 1.60, rel_tol=0.05)
    assert isclose(fleet_model.busiest(40, 1_600, 5_000), 1.23, rel_tol=0.05)


def test_a_curve_is_met_at_its_points_and_does_not_leave_its_range():
    curve = FIGURES.request

    assert curve.at(1_000) == 40e-6
    assert isclose(curve.at(10_000), 30e-6)
    assert (curve.at(1), curve.at(1e9)) == (40e-6, 20e-6)


def test_the_busiest_replica_stays_below_the_wanted_utilisation():
    for rate in RATES:
        demand = Demand.usual(rate)
        fleet = plan(FIGURES, demand)
        in_use = fleet.replicas - demand.spares
        busy = fleet.load.worker_cpu / (in_use * demand.workers) * fleet.busiest

        assert busy <= demand.utilisation


@pytest.mark.parametrize(
    "figure",
    ["replicas", "balancers", "database_cores", "usage_bytes", "bits_in"],
)
def test_more_requests_never_need_less(figure):
    needed = [getattr(plan(FIGURES, Demand.usual(rate)), figure) for rate in RATES]

    assert needed == sorted(needed)


def test_a_transaction_costs_what_few_rows_cost_more_than_many():
    # 2 ms for each transaction, and 100 µs for each row.
    few = {"keys": 5, "worker_cpu": 100e-6 + 2e-3 / 5, "database_cpu": 0.0}
    many = {"keys": 200, "worker_cpu": 100e-6 + 2e-3 / 200, "database_cpu": 0.0}
    write, row = scale_costs.write_and_row({"few_rows": few, "row": many}, "worker_cpu")
    assert isclose(write, 2e-3) and isclose(row, 100e-6)
    assert scale_costs.write_and_row({"row": many}, "worker_cpu") == (
        0.0,
        many["worker_cpu"],
    )
    dear = replace(FIGURES, database_write=1e-3)
    demand = Demand(1_000, 100, 100, workers=1)
    cpu = [fleet_model.load(each, demand, 1).database_cpu for each in (FIGURES, dear)]
    assert isclose(cpu[1] - cpu[0], 2e-3, rel_tol=0.01)  # in every round


def test_more_requests_with_the_same_keys_add_no_rows_to_one_in_ten_seconds():
    for rate in (1_000, 2_000, 20_000):
        rows = plan(FIGURES, Demand(rate, 1_000, 1_000, workers=1)).load.rows
        assert isclose(rows, 100, rel_tol=0.001)


def test_one_worker_per_replica_writes_least():
    many, one = (
        plan(FIGURES, Demand.usual(1_000_000, workers=workers)) for workers in (8, 1)
    )

    assert one.load.rows < many.load.rows
    assert one.load.refreshes < many.load.refreshes
    assert one.database_cores < many.database_cores


def test_a_part_of_a_demand_fits_one_database():
    demand = Demand.usual(100_000_000)
    number = cells(FIGURES, demand)

    fleet = plan(FIGURES, fleet_limits.part(demand, number))
    assert fleet.database_cores <= fleet_limits.DATABASE_CORES
    assert number > 1
    assert cells(FIGURES, Demand.usual(1_000)) == 1


def test_a_limit_is_reached_at_the_rate_that_is_named():
    name = "CPU of one PostgreSQL"

    rate = fleet_limits.largest_rate(FIGURES, name)

    def share(rate):
        limits = fleet_limits.limits_of(plan(FIGURES, Demand.usual(rate)))
        return next(each.share for each in limits if each.name == name)

    assert share(rate) < 1.01 < share(1.05 * rate)
    free = replace(
        FIGURES, database_idle=0, database_refresh=0, database_row=0, database_look_up=0
    )
    assert fleet_limits.largest_rate(free, name) == inf


@pytest.mark.parametrize(
    ("rate", "keys", "words"),
    [
        (1_000_000, 49_999, "need at least 50,000 keys"),
        (0, 10, "must be above 0"),
        (10, 0, "must be above 0"),
    ],
)
def test_a_demand_that_no_fleet_can_meet_is_refused(rate, keys, words):
    with pytest.raises(ImpossibleDemand, match=words):
        plan(FIGURES, Demand(rate, keys, connections=1))


def test_fifty_thousand_keys_allow_a_million_requests():
    assert plan(FIGURES, Demand(1_000_000, 50_000, 50_000)).replicas > 1
