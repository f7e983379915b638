"""Reloads and a stop while clients send requests, some of which take long to arrive."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

from tests.support.api import Api
from tests.support.processes import has_ended, reload, worker_pids
from tests.support.server import LASTING, ephemeral_server
from tests.support.traffic import Traffic, echoes, traffic
from tests.support.waiting import wait_until

ROUND_TRIPS = (0, 0.1, 0.4, 0.8)
CLIENTS = 40  # for each round trip
KEEPING = 30  # of them keep their connections
RELOADS = 2
# After a long pause, a client sends its next request on a connection that looks idle.
# After a short one it is mostly waiting for an answer, and does not fill a core.
PAUSES = (0.1, 1.0)


def test_reloads_and_a_stop_lose_no_request(tmp_path: Path) -> None:
    settings = LASTING | {"READBACK_WORKERS": "2"}
    with ephemeral_server(tmp_path, settings) as server, ExitStack() as stack:
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run")
        api = Api.of(server)
        seen = {
            round_trip: stack.enter_context(
                traffic(
                    api.endpoint,
                    echoes(api.endpoint, [api.key]),
                    clients=CLIENTS,
                    pauses=PAUSES,
                    round_trip=round_trip,
                    until_refused=True,
                )
            )
            for round_trip in ROUND_TRIPS
        }
        for _ in range(RELOADS):
            wait_for_more_answers(seen)
            reload(server)
        wait_for_more_answers(seen)
        assert [each.refused for each in seen.values()] == [0] * len(ROUND_TRIPS)
        os.kill(server.pid, signal.SIGTERM)
        wait_until(lambda: has_ended(server.pid), "the server has ended")
        wait_until(
            lambda: all(each.refused == CLIENTS for each in seen.values()),
            "all clients are refused",
        )
    assert {round_trip: each.problems for round_trip, each in seen.items()} == {
        round_trip: {} for round_trip in ROUND_TRIPS
    }
    assert all(each.announced >= RELOADS * KEEPING for each in seen.values())


def wait_for_more_answers(seen: dict[float, Traffic]) -> None:
    for each in seen.values():
        each.wait_for(2 * CLIENTS)
