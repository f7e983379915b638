"""The load on the database follows workers and active keys, never requests.

Counted by the server in readback_statements_total, and beside it by PostgreSQL, which
counts a transaction for every statement that stands alone.
"""

import time
from collections.abc import Callable
from math import ceil

import pytest

from readback import keys
from tests.scale.conftest import Place
from tests.support.load import models, pipeline, spread
from tests.support.metrics import metrics
from tests.support.waiting import wait_until

ROWS_PER_WRITE = 500
# A key waits on each connection of a flood: so many are looked up at once at the most.
FLOODING = 200
ROUNDS_A_SECOND = 2
STATEMENTS_PER_WRITE = 8
LOOK_UPS_A_SECOND, LOOK_UP_BURST = 100, 50
# The first and the last round of a measurement, and one for good measure.
EDGE_ROUNDS = 3


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, start: Callable[..., Place]) -> Place:
    return start(request.param, READBACK_WORKERS="1")


def statements_for(known: float, place: Place) -> int:
    """So many ask about so many keys; without any, one asks for a sign of life."""
    return max(1, ceil(known / (128 if place.database.is_sqlite else 500)))


class Measured:
    """Statements and seconds of a piece of work."""

    def __init__(self, place: Place, work: Callable[[], object]) -> None:
        began, before = time.monotonic(), self.counts(place)
        work()
        pending = "pending_rows"
        wait_until(lambda: not metrics(place.server.ops_url)[pending], "all is written")
        self.seconds = time.monotonic() - began
        after = self.counts(place)
        self.statements = after[0] - before[0]
        self.transactions = after[1] - before[1]

    @staticmethod
    def counts(place: Place) -> tuple[int, int]:
        statements = metrics(place.server.ops_url)["statements_total"]
        if place.database.is_sqlite:
            return statements, 0
        name = place.database.value("SELECT current_database()")
        place.database.rows("SELECT pg_stat_clear_snapshot()")
        return statements, place.database.value(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = ?", name
        )

    def rounds(self) -> float:
        return self.seconds * ROUNDS_A_SECOND + EDGE_ROUNDS

    def for_known_keys(self, place: Place) -> float:
        """Allow for the known keys of the other tests.

        They are asked about all the while, and their last write may fall into our time.
        """
        known = metrics(place.server.ops_url)["known_keys"]
        last_write = max(1, ceil(known / ROWS_PER_WRITE)) * STATEMENTS_PER_WRITE
        return self.rounds() * statements_for(known, place) + last_write


def test_requests_with_known_keys_cost_no_statement_of_their_own(place):
    known = place.new_keys(1000)
    all_once = [models(place.endpoint, key) for key in known]
    assert spread(place.endpoint, all_once, connections=100) == {200: 1000}

    few = Measured(place, lambda: pipeline(place.endpoint, all_once * 2))
    many = Measured(place, lambda: pipeline(place.endpoint, all_once * 20))

    writes = ceil(len(known) / ROWS_PER_WRITE)
    in_a_round = statements_for(len(known), place) + writes * STATEMENTS_PER_WRITE
    for measured in (few, many):
        allowed = measured.rounds() * in_a_round
        assert measured.statements <= allowed
        # PostgreSQL counts our own questions, too, and counts late.
        assert measured.transactions <= allowed + 200


def test_a_flood_of_made_up_keys_costs_a_bounded_number_of_statements(place):
    flood = [models(place.endpoint, keys.mint()) for _ in range(5000)]

    def pour() -> None:
        assert spread(place.endpoint, flood, connections=FLOODING) == {401: 5000}

    measured = Measured(place, pour)

    look_ups = measured.seconds * LOOK_UPS_A_SECOND + LOOK_UP_BURST
    allowed = look_ups * statements_for(FLOODING, place)
    assert measured.statements <= allowed + measured.for_known_keys(place)


def test_a_flood_of_keys_with_a_wrong_checksum_costs_none(place):
    flood = [models(place.endpoint, f"sk-echo-{n:038}") for n in range(5000)]

    def pour() -> None:
        assert spread(place.endpoint, flood, connections=10) == {401: 5000}

    measured = Measured(place, pour)

    assert measured.statements <= measured.for_known_keys(place)
