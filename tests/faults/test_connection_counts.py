"""Connections and workers are counted exactly while workers are replaced."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.serving import api_server
from tests.support.api import Api
from tests.support.load import models
from tests.support.metrics import metrics
from tests.support.processes import worker_pids
from tests.support.server import UNLIMITED, Server
from tests.support.waiting import wait_until
from tests.support.wire import exchange

RELOADS = 3
# Between two connections of one client, so that the workers have time to be replaced.
PAUSE_SECONDS = 0.03
TWO_WORKERS = UNLIMITED | {"READBACK_WORKERS": "2"}


def reload(server: Server) -> None:
    before = worker_pids(server)
    os.kill(server.pid, signal.SIGHUP)
    wait_until(
        lambda: len(now := worker_pids(server)) == 2 and not now & before,
        "both workers are replaced",
    )


def test_every_connection_is_counted_across_reloads(tmp_path: Path) -> None:
    with (
        api_server(tmp_path, TWO_WORKERS) as server,
        ThreadPoolExecutor(4) as pool,
    ):
        api = Api.of(server)
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run")
        counted_before = metrics(server.ops_url)["connections_total"]
        done = threading.Event()

        def connect_again_and_again() -> int:
            made = 0
            while not done.wait(PAUSE_SECONDS):
                answer = exchange(api.endpoint, models(api.endpoint, api.key))
                assert answer.status == 200
                made += 1
            return made

        clients = [pool.submit(connect_again_and_again) for _ in range(4)]
        try:
            for _ in range(RELOADS):
                reload(server)
        finally:
            done.set()
        made = sum(client.result() for client in clients)

        def counted() -> int:
            return metrics(server.ops_url)["connections_total"] - counted_before

        wait_until(lambda: counted() >= made, lambda: f"{counted()} of {made} counted")
        assert counted() == made


def test_a_worker_killed_after_a_reload_is_not_counted_as_alive(tmp_path: Path) -> None:
    with api_server(tmp_path, TWO_WORKERS) as server:
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run")
        reload(server)
        victim = min(worker_pids(server))
        os.kill(victim, signal.SIGKILL)
        wait_until(
            lambda: len(worker_pids(server) - {victim}) == 2,
            "the killed worker is replaced",
        )
        wait_until(
            lambda: metrics(server.ops_url)["workers"] == 2, "two workers are alive"
        )
        # Those that the reload has replaced were told to end.
        assert metrics(server.ops_url)["worker_deaths_total"] == 1
