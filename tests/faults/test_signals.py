"""Stopping, reloading and losing a worker while clients send requests."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.faults.constant_load import load
from tests.support.api import Api, assert_echo, draft
from tests.support.processes import api_workers, has_ended, worker_pids
from tests.support.server import LASTING, Server, ephemeral_server
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

TWO_WORKERS = LASTING | {"READBACK_WORKERS": "2"}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_stop_fails_no_started_request(tmp_path: Path, workers: str) -> None:
    settings = LASTING | {"READBACK_WORKERS": workers}
    with ephemeral_server(tmp_path, settings) as server:
        with load(Api.of(server), ends_when_refused=True) as seen:
            wait_until(lambda: seen.answered > 500, "500 requests are answered")
            os.kill(server.pid, signal.SIGTERM)
            wait_until(lambda: has_ended(server.pid), "the server has ended")
        assert seen.failed == []
        assert seen.last_answers >= 6
    # On leaving, ephemeral_server expects exit code 0.


def test_a_started_request_is_answered_with_close_during_a_stop(
    tmp_path: Path,
) -> None:
    with ephemeral_server(tmp_path, LASTING) as server, ExitStack() as stack:
        api = Api.of(server)
        raw = api.chat_bytes(draft("begun"))
        halves = {
            place: stack.enter_context(api.endpoint.connect())
            for place in (1, 50, len(raw) - 1)
        }
        for place, connection in halves.items():
            connection.send(raw[:place])
        wait_until(
            lambda: _open_connections(server) >= 3,
            "three connections are open",
        )
        os.kill(server.pid, signal.SIGTERM)
        wait_until(
            lambda: not _listens(api.endpoint),
            "the server no longer listens",
        )
        for place, connection in halves.items():
            connection.send(raw[place:])
            answer = connection.read_answer()
            assert_echo(answer, "begun")
            assert answer.header("Connection") == "close"
        wait_until(lambda: has_ended(server.pid), "the server has ended")


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


def test_a_reload_refuses_and_fails_no_request(tmp_path: Path) -> None:
    with ephemeral_server(tmp_path, TWO_WORKERS) as server:
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run")
        with load(Api.of(server), ends_when_refused=False) as seen:
            for _ in range(2):
                before = worker_pids(server)
                goal = seen.answered + 300
                wait_until(
                    lambda goal=goal: seen.answered > goal,
                    "300 more requests are answered",
                )
                os.kill(server.pid, signal.SIGHUP)
                wait_until(
                    lambda before=before: _replaced(server, before),
                    "both workers are replaced",
                )
                goal = seen.answered + 300
                wait_until(
                    lambda goal=goal: seen.answered > goal,
                    "300 more requests are answered",
                )
        assert seen.failed == []
        assert seen.refused_connections == []


def test_a_killed_worker_is_replaced_while_the_others_serve(tmp_path: Path) -> None:
    with ephemeral_server(tmp_path, TWO_WORKERS) as server:
        api = Api.of(server)
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run")
        victim, other = api_workers(server)
        with load(api, ends_when_refused=False) as seen:
            wait_until(lambda: seen.answered > 200, "200 requests are answered")
            victim.send_signal(signal.SIGKILL)
            wait_until(
                lambda: len(worker_pids(server) - {victim.pid}) == 2,
                "the killed worker is replaced",
            )
            goal = seen.answered + 300
            wait_until(
                lambda: seen.answered > goal,
                "300 more requests are answered",
            )
        assert other.is_running()
        # Only the current requests of that worker are lost: at most one per client.
        assert len(seen.failed) <= 8
        assert seen.refused_connections == []


def _replaced(server: Server, before: set[int]) -> bool:
    now = worker_pids(server)
    return len(now) == 2 and not now & before


def _open_connections(server: Server) -> int:
    port = Endpoint.of(server.base_url).port
    [worker] = api_workers(server)
    return sum(
        connection.status == psutil.CONN_ESTABLISHED and connection.laddr.port == port
        for connection in worker.net_connections("tcp")
    )


def _listens(endpoint: Endpoint) -> bool:
    try:
        with endpoint.connect():
            return True
    except OSError:
        return False
