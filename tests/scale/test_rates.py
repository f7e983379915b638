"""Rates hold across all workers of a server, which count in parallel."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from readback import keys
from tests.scale.conftest import Serve, Site
from tests.support.load import models, pipeline
from tests.support.processes import one_connection_per_worker
from tests.support.wire import exchange

# A machine would have to take 18 s for the requests below to be refused none of them.
RATE, BURST = 500, 3000
TOLERANCE = 0.05


@pytest.fixture(scope="module")
def site(serve: Serve) -> Iterator[Site]:
    with serve(
        "sqlite",
        READBACK_WORKERS="2",
        READBACK_KEY_RATE=str(RATE),
        READBACK_KEY_BURST=str(BURST),
        READBACK_AUTH_FAILURE_RATE="1",
        READBACK_AUTH_FAILURE_BURST="50",
    ) as site:
        yield site


def test_the_rate_of_a_key_is_exact_across_two_workers(site):
    [key] = site.new_keys(1)
    raw = models(site.endpoint, key)
    with one_connection_per_worker(site.server) as connections:
        for connection in connections:
            connection.send(raw)
            assert connection.read_answer().status == 200
    # Both workers know the key; from now on they compete for every request.
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        requests = [[raw] * 1500 for _ in range(8)]
        counts = sum(
            pool.map(lambda r: pipeline(site.endpoint, r), requests), Counter()
        )
    elapsed = time.monotonic() - began

    assert set(counts) == {200, 429}
    fewest = BURST - 2
    most = BURST + RATE * (elapsed + 0.1)
    assert fewest * (1 - TOLERANCE) <= counts[200] <= most * (1 + TOLERANCE)


def test_failed_keys_of_one_address_are_limited_across_workers(
    site,
):
    [good] = site.new_keys(1)
    unknown = [models(site.endpoint, keys.mint()) for _ in range(150)]
    began = time.monotonic()
    with ThreadPoolExecutor(5) as pool:
        parts = [unknown[n::5] for n in range(5)]
        counts = sum(pool.map(lambda r: pipeline(site.endpoint, r), parts), Counter())
    elapsed = time.monotonic() - began

    assert 45 <= counts[401] <= 50 + elapsed + 2 and counts[429] > 0
    assert exchange(site.endpoint, models(site.endpoint, good)).status == 200

    # One of them may be allowed meanwhile.
    with site.endpoint.connect() as connection:
        connection.send(b"".join(unknown[:20]))
        answers = [connection.read_answer() for _ in range(20)]
    limited = [answer for answer in answers if answer.status == 429]
    assert limited
    assert {answer.header("Retry-After") for answer in limited} <= {"1", "2"}
