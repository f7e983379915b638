"""The rate of a key holds across all workers of a server, which count in parallel."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.scale.conftest import Serve, Site
from tests.support.load import models, pipeline
from tests.support.processes import one_connection_per_worker

RATE = 1
BURST = 3000


@pytest.fixture(scope="module")
def site(serve: Serve) -> Iterator[Site]:
    with serve(
        "sqlite",
        READBACK_WORKERS="2",
        READBACK_KEY_RATE=str(RATE),
        READBACK_KEY_BURST=str(BURST),
    ) as site:
        yield site


def test_the_rate_of_a_key_is_exact_across_two_workers(site):
    [key] = site.new_keys(1)
    raw = models(site.endpoint, key)
    began = time.monotonic()
    with one_connection_per_worker(site.server) as connections:
        for connection in connections:
            connection.send(raw)
            assert connection.read_answer().status == 200
    # Both workers know the key; from now on they compete for every request.
    with ThreadPoolExecutor(8) as pool:
        requests = [[raw] * 1500 for _ in range(8)]
        counts = sum(
            pool.map(lambda r: pipeline(site.endpoint, r), requests), Counter({200: 2})
        )
    elapsed = time.monotonic() - began

    assert set(counts) == {200, 429}
    assert BURST <= counts[200] <= BURST + RATE * elapsed
