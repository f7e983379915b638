"""Reloads and a stop while clients send requests that take long to arrive."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

from tests.faults.long_path import Seen, load_from_afar
from tests.support.api import Api
from tests.support.processes import has_ended, worker_pids
from tests.support.server import LASTING, Server, ephemeral_server
from tests.support.waiting import wait_until

ROUND_TRIPS = (0, 0.1, 0.4, 0.8)
CLIENTS = 40  # for each round trip
RELOADS = 2


def test_reloads_and_a_stop_lose_no_request(tmp_path: Path) -> None:
    settings = LASTING | {"READBACK_WORKERS": "2"}
    with ephemeral_server(tmp_path, settings) as server, ExitStack() as stack:
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run")
        seen = {
            round_trip: stack.enter_context(
                load_from_afar(Api.of(server), round_trip, CLIENTS)
            )
            for round_trip in ROUND_TRIPS
        }
        for _ in range(RELOADS):
            wait_for_more_answers(seen)
            before = worker_pids(server)
            os.kill(server.pid, signal.SIGHUP)
            wait_until(lambda before=before: _replaced(server, before), "new workers")
        wait_for_more_answers(seen)
        os.kill(server.pid, signal.SIGTERM)
        wait_until(lambda: has_ended(server.pid), "the server has ended")
        wait_until(
            lambda: all(each.refused == CLIENTS for each in seen.values()),
            "all clients are refused",
        )
    assert {round_trip: each.lost for round_trip, each in seen.items()} == {
        round_trip: [] for round_trip in ROUND_TRIPS
    }
    assert all(each.announced >= RELOADS * CLIENTS for each in seen.values())


def wait_for_more_answers(seen: dict[float, Seen]) -> None:
    goals = {each: seen[each].answered + 2 * CLIENTS for each in seen}
    wait_until(
        lambda: all(seen[each].answered > goals[each] for each in seen),
        "more requests are answered",
    )


def _replaced(server: Server, before: set[int]) -> bool:
    now = worker_pids(server)
    return len(now) == 2 and not now & before
