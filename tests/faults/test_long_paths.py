"""Reloads and a stop while clients send requests that take long to arrive."""

import os
import signal
from pathlib import Path

import pytest

from tests.faults.long_path import Seen, load_from_afar
from tests.support.api import Api
from tests.support.processes import has_ended, worker_pids
from tests.support.server import LASTING, Server, ephemeral_server
from tests.support.waiting import wait_until

CLIENTS = 40
RELOADS = 3


@pytest.mark.parametrize("round_trip", [0, 0.1, 0.4, 0.8])
def test_reloads_and_a_stop_lose_no_request(tmp_path: Path, round_trip: float) -> None:
    settings = LASTING | {"READBACK_WORKERS": "2"}
    with ephemeral_server(tmp_path, settings) as server:
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run", 15)
        with load_from_afar(Api.of(server), round_trip, CLIENTS) as seen:
            for _ in range(RELOADS):
                wait_for_more_answers(seen)
                before = worker_pids(server)
                os.kill(server.pid, signal.SIGHUP)
                wait_until(
                    lambda before=before: _replaced(server, before), "new workers", 40
                )
            wait_for_more_answers(seen)
            os.kill(server.pid, signal.SIGTERM)
            wait_until(lambda: has_ended(server.pid), "the server has ended", 40)
            wait_until(lambda: seen.refused == CLIENTS, "all clients are refused", 40)
        assert seen.lost == []
        assert seen.announced >= RELOADS * CLIENTS


def wait_for_more_answers(seen: Seen) -> None:
    goal = seen.answered + 2 * CLIENTS
    wait_until(lambda: seen.answered > goal, "more requests are answered", 30)


def _replaced(server: Server, before: set[int]) -> bool:
    now = worker_pids(server)
    return len(now) == 2 and not now & before
