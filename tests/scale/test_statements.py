"""The load on the database depends on workers and active keys, never on requests.

The server counts its statements in readback_statements_total. PostgreSQL counts each
statement outside a transaction as a transaction.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import ceil

import pytest

from readback import keys
from tests.scale.conftest import Serve
from tests.support.load import models, pipeline, spread
from tests.support.metrics import metrics
from tests.support.server import Server
from tests.support.waiting import wait_until
from tests.support.wire import exchange

ROWS_PER_WRITE = 500
FLOOD = 2500
# The connections in a flood. Each has one request in progress, which limits how many
# keys are looked up at once.
FLOODING = 200
TICKS_A_SECOND = 2
STATEMENTS_PER_WRITE = 9
# One reads the rows for an address, and one writes the counts since the last tick.
STATEMENTS_FOR_UNMATCHED = 2
LOOK_UPS_A_SECOND = 100
# The first and the last tick of a measurement, and one more to be safe.
EDGE_TICKS = 3


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, serve: Serve) -> Iterator[Server]:
    with serve(request.param, READBACK_WORKERS="1") as site:
        yield site


def statements_for(known: float, site: Server) -> int:
    """Return how many statements look up this many keys; at least one is sent."""
    return max(1, ceil(known / (128 if site.database.is_sqlite else 500)))


class Measured:
    """The statements and the seconds that some work took."""

    def __init__(self, site: Server, work: Callable[[], object]) -> None:
        began = time.monotonic()
        before = self.counts(site)
        work()
        pending = "pending_rows"
        wait_until(lambda: not metrics(site.ops_url)[pending], "all is written")
        self.seconds = time.monotonic() - began
        after = self.counts(site)
        self.statements = after[0] - before[0]
        self.transactions = after[1] - before[1]

    @staticmethod
    def counts(site: Server) -> tuple[int, int]:
        statements = metrics(site.ops_url)["statements_total"]
        if site.database.is_sqlite:
            return statements, 0
        name = site.database.value("SELECT current_database()")
        site.database.rows("SELECT pg_stat_clear_snapshot()")
        return statements, site.database.value(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = ?", name
        )

    def ticks(self) -> float:
        return self.seconds * TICKS_A_SECOND + EDGE_TICKS

    def for_unmatched(self) -> float:
        """Return how many statements requests without an accepted key may add."""
        return self.ticks() * STATEMENTS_FOR_UNMATCHED

    def for_known_keys(self, site: Server) -> float:
        """Return what the known keys of other tests may add.

        They are looked up at every tick, and their last usage may be written only now.
        """
        known = metrics(site.ops_url)["known_keys"]
        last_write = max(1, ceil(known / ROWS_PER_WRITE)) * STATEMENTS_PER_WRITE
        return self.ticks() * statements_for(known, site) + last_write


def written(site: Server) -> int:
    return site.database.value("SELECT coalesce(sum(requests), 0) FROM cabinet_usage")


def test_requests_with_known_keys_cause_no_statements_of_their_own(site):
    known = site.database.new_keys(1000)
    before = written(site)
    one_per_key = [models(site.endpoint, key) for key in known]
    assert spread(site.endpoint, one_per_key, connections=100) == {200: 1000}

    few = Measured(site, lambda: pipeline(site.endpoint, one_per_key * 2))
    many = Measured(site, lambda: pipeline(site.endpoint, one_per_key * 6))

    writes = ceil(len(known) / ROWS_PER_WRITE)
    in_a_tick = statements_for(len(known), site) + writes * STATEMENTS_PER_WRITE
    for measured in (few, many):
        allowed = measured.ticks() * in_a_tick
        assert measured.statements <= allowed
        # PostgreSQL counts with a delay, and also counts the queries of this test.
        assert measured.transactions <= allowed + 200

    # The usage of a busy key is written less and less often. Wait for it, so that other
    # tests do not count it.
    sent = len(known) * (1 + 2 + 6)
    wait_until(lambda: written(site) == before + sent, "all usage is written")


def test_a_flood_of_unknown_keys_causes_a_bounded_number_of_statements(site):
    """During the flood, other keys from the same address are accepted."""
    flood = [models(site.endpoint, keys.mint()) for _ in range(FLOOD)]
    new = [models(site.endpoint, key) for key in site.database.new_keys(20)] * 2

    def send_flood() -> None:
        with ThreadPoolExecutor(1) as pool:
            honest = pool.submit(lambda: [exchange(site.endpoint, raw) for raw in new])
            answered = spread(site.endpoint, flood, connections=FLOODING)
            # On a busy machine, a lookup may take longer than two seconds.
            assert answered[401] + answered[503] == FLOOD
            assert {answer.status for answer in honest.result()} == {200}
        wait_until(lambda: written(site) == before + len(new), "their usage is written")

    before = written(site)
    measured = Measured(site, send_flood)

    look_ups = measured.seconds * LOOK_UPS_A_SECOND
    allowed = look_ups * statements_for(FLOODING, site)
    allowed += measured.for_known_keys(site) + measured.for_unmatched()
    assert measured.statements <= allowed
    # Otherwise the test would not notice a separate lookup for each key.
    assert measured.seconds > 10 or allowed < FLOOD


def test_a_flood_of_keys_with_a_wrong_checksum_causes_no_look_ups(site):
    flood = [models(site.endpoint, f"sk-echo-{n:038}") for n in range(FLOOD)]

    def send_flood() -> None:
        assert spread(site.endpoint, flood, connections=10) == {401: FLOOD}

    measured = Measured(site, send_flood)

    allowed = measured.for_known_keys(site) + measured.for_unmatched()
    assert measured.statements <= allowed
