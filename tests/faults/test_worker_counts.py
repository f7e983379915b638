"""Workers are counted exactly while they are replaced."""

import os
import signal
from pathlib import Path

from tests.faults.serving import api_server
from tests.support.metrics import metrics
from tests.support.processes import worker_pids
from tests.support.server import UNLIMITED, Server
from tests.support.waiting import wait_until

TWO_WORKERS = UNLIMITED | {"READBACK_WORKERS": "2"}


def reload(server: Server) -> None:
    before = worker_pids(server)
    os.kill(server.pid, signal.SIGHUP)
    wait_until(
        lambda: len(now := worker_pids(server)) == 2 and not now & before,
        "both workers are replaced",
    )


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
