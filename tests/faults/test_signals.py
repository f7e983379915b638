"""Stopping and losing a worker while clients send requests.

What a stop and reloads do to many clients is in `test_long_paths.py`.
"""

import os
import signal
from pathlib import Path

import psutil

from tests.support.api import Api, draft
from tests.support.metrics import metrics
from tests.support.processes import api_workers, has_ended, reload, worker_pids
from tests.support.server import LASTING, Server, api_server, ephemeral_server
from tests.support.traffic import CLIENTS, echoes, traffic
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint


def test_an_unfinished_request_delays_a_stop_only_until_its_time_out(
    tmp_path: Path,
) -> None:
    # The only time-out that can end the request.
    settings = LASTING | {"READBACK_STOP_TIMEOUT": "1", "READBACK_BODY_TIMEOUT": "300"}
    with ephemeral_server(tmp_path, settings) as server:
        api = Api.of(server)
        with api.endpoint.connect() as connection:
            connection.send(api.chat_bytes(draft("x"))[:-1])
            wait_until(
                lambda: _open_connections(server) >= 1,
                "a connection is open",
            )
            os.kill(server.pid, signal.SIGTERM)
            wait_until(lambda: has_ended(server.pid), "the server has ended")


def test_a_killed_worker_is_replaced_while_the_others_serve(tmp_path: Path) -> None:
    with api_server(tmp_path, LASTING | {"READBACK_WORKERS": "2"}) as server:
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run")
        reload(server)
        victim, other = api_workers(server)
        api = Api.of(server)
        with traffic(api.endpoint, echoes(api.endpoint, [api.key])) as seen:
            seen.wait_for(200)
            victim.send_signal(signal.SIGKILL)
            wait_until(
                lambda: len(worker_pids(server) - {victim.pid}) == 2,
                "the killed worker is replaced",
            )
            seen.wait_for(300)
        assert other.is_running()
        # Only the current requests of that worker are lost: at most one per client.
        assert len(seen.failed) <= CLIENTS
        assert seen.refused == 0
        wait_until(
            lambda: metrics(server.ops_url)["workers"] == 2, "two workers are alive"
        )
        # Those that the reload has replaced were told to end.
        assert metrics(server.ops_url)["worker_deaths_total"] == 1


def _open_connections(server: Server) -> int:
    port = Endpoint.of(server.base_url).port
    [worker] = api_workers(server)
    return sum(
        connection.status == psutil.CONN_ESTABLISHED and connection.laddr.port == port
        for connection in worker.net_connections("tcp")
    )
