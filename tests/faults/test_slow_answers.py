"""A worker that stalls for 200 ms, as the histogram of request times shows it."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from math import inf
from pathlib import Path

import pytest

from readback.http.timing import SAMPLED
from tests.support.api import Api, draft
from tests.support.metrics import requests_by_time
from tests.support.processes import api_workers, one_connection_per_worker
from tests.support.server import UNLIMITED, Server, api_server
from tests.support.waiting import wait_until

STALL = 0.2
# A worker measures at least one of this many requests.
ENOUGH = 2 * SAMPLED


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with api_server(tmp_path, UNLIMITED) as server:
        yield server


def test_a_stall_shows_in_the_99th_percentile_and_outlives_its_worker(
    server: Server,
) -> None:
    api = Api.of(server)
    [worker] = api_workers(server)
    with ExitStack() as stack:
        connections = [
            stack.enter_context(api.endpoint.connect()) for _ in range(ENOUGH)
        ]
        worker.suspend()
        for connection in connections:
            connection.send(api.chat_bytes(draft("x")))
        time.sleep(STALL)
        worker.resume()
        for connection in connections:
            assert connection.read_answer().status == 200
    times = requests_by_time(server.ops_url)
    assert times[inf] > 0
    assert times[0.1] == 0, "all of them waited"

    worker.send_signal(signal.SIGKILL)
    wait_until(lambda: api_workers(server) not in ([], [worker]), "it is replaced")
    with one_connection_per_worker(server):
        assert requests_by_time(server.ops_url)[inf] >= times[inf]


def test_what_a_rehearsal_key_asked_for_is_not_measured(server: Server) -> None:
    def ask(api: Api) -> None:
        with api.endpoint.connect() as connection:
            for _ in range(ENOUGH):
                connection.send(api.chat_bytes(draft("x")))
                connection.read_answer()

    ask(Api.of(server).with_key(server.new_key("500")))
    assert requests_by_time(server.ops_url)[inf] == 0
    ask(Api.of(server))
    assert requests_by_time(server.ops_url)[inf] > 0
