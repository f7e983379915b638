"""The arithmetic of fleets, and the page that it writes."""

import re

import pytest
from bench import fleets, render
from bench.__main__ import main
from click.testing import CliRunner

COSTS = fleets.measured_costs()


def test_the_page_shows_what_the_arithmetic_gives():
    page = fleets.PAGE.read_text(encoding="utf-8")
    found = {name: fleets.plan(COSTS, *size) for name, size in fleets.SIZES.items()}

    assert fleets.table(found) in page
    assert fleets.limits(COSTS, found) in page


def test_the_command_of_the_page_works():
    page = fleets.PAGE.read_text(encoding="utf-8")
    [command] = re.findall(r"-m bench (fleets .+)", page)

    printed = CliRunner().invoke(main, command.split()).output

    assert "| keys in use | 2,000 |" in printed


def test_more_requests_than_keys_may_send_are_refused_with_the_number_of_keys():
    with pytest.raises(fleets.ImpossibleDemand, match="need at least 50 keys"):
        fleets.plan(COSTS, rate=1000, workers=1, keys=10)


def test_the_database_depends_on_keys_and_workers_and_not_on_requests():
    one, twice = (fleets.plan(COSTS, rate, 8, keys=1000) for rate in (8000, 16_000))
    single = fleets.plan(COSTS, 8000, 1, keys=1000)

    assert one.rows == twice.rows == 8 * single.rows
    assert one.database_cores > 4 * single.database_cores


def test_the_busiest_of_many_replicas_has_more_than_the_average():
    assert fleets.busiest(1, 1000) == pytest.approx(1)
    assert 1.02 < fleets.busiest(16, 100_000) < 1.2


def test_the_plan_leaves_a_spare_replica_and_does_not_exceed_the_busy_share():
    fleet = fleets.plan(COSTS, 1_000_000, 8)
    at_least = 1_000_000 * COSTS.worker_request / (fleets.BUSY * fleet.workers)

    assert fleet.replicas - 1 >= at_least
    assert render.percentage(fleet.used()["CPU of one PostgreSQL"]) == "86 %"
