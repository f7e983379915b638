"""Two API workers share a socket, rates and `created`; one hangs or dies."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support.api import Api, assert_echo, assert_success, draft
from tests.support.metrics import metrics
from tests.support.processes import (
    api_workers,
    has_ended,
    one_connection_per_worker,
    reload,
    suspended,
    worker_pids,
)
from tests.support.server import UNLIMITED, Server, api_server, ephemeral_server
from tests.support.waiting import wait_until
from tests.support.wire import Connection

TWO_WORKERS = UNLIMITED | {"READBACK_WORKERS": "2"}
SOME = 20  # connections


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ephemeral_server(tmp_path_factory.mktemp("server"), TWO_WORKERS) as server:
        yield server


@pytest.fixture
def workers(server: Server) -> list[psutil.Process]:
    """Both workers, once each of them accepts connections."""
    with one_connection_per_worker(server):
        return api_workers(server)


def ask(stack: ExitStack, api: Api) -> list[Connection]:
    """Send a request on each of several new connections."""
    asked = [stack.enter_context(api.endpoint.connect()) for _ in range(SOME)]
    for connection in asked:
        connection.send(api.chat_bytes(draft("x")))
    return asked


def assert_all_answered(asked: list[Connection]) -> None:
    for connection in asked:
        assert_echo(connection.read_answer(), "x")


def test_no_connection_waits_for_a_worker_that_hangs(server: Server, workers) -> None:
    with suspended(workers[0]), ExitStack() as stack:
        assert_all_answered(ask(stack, Api.of(server)))
    # Both workers accept connections again.
    with one_connection_per_worker(server):
        assert api_workers(server) == workers


def test_a_killed_worker_is_replaced_counted_and_no_longer_alive(
    server: Server, workers
) -> None:
    victim = workers[0]
    with suspended(victim), ExitStack() as stack:
        asked = ask(stack, Api.of(server))
        victim.kill()
        assert_all_answered(asked)
    wait_until(
        lambda: len(now := worker_pids(server)) == 2 and victim.pid not in now,
        "it is replaced",
    )
    # Workers that a reload replaces do not count as deaths.
    reload(server)
    wait_until(lambda: metrics(server.ops_url)["workers"] == 2, "two are alive")
    assert metrics(server.ops_url)["worker_deaths_total"] == 1


def test_workers_draw_different_ids(server: Server, workers) -> None:
    # Each worker draws random bytes for many ids at once.
    ids = []
    with one_connection_per_worker(server) as connections:
        for connection in connections:
            for _ in range(300):
                connection.send(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
                ids.append(connection.read_answer().header("X-Request-Id"))
    assert len(set(ids)) == len(ids) == 600


def test_two_workers_share_the_rate_and_the_created_of_a_key(tmp_path: Path) -> None:
    burst = 500
    rate = {"READBACK_KEY_RATE": "1", "READBACK_KEY_BURST": str(burst)}

    def ask_for_all(connection: Connection) -> list[int]:
        given = []
        for _ in range(burst):
            connection.send(raw)
            if (answer := connection.read_answer()).status == 200:
                given.append(assert_success(answer)["created"])
        return given

    with (
        api_server(tmp_path, TWO_WORKERS | rate) as server,
        one_connection_per_worker(server) as connections,
        ThreadPoolExecutor(2) as pool,
    ):
        raw = Api.of(server).chat_bytes(draft("x"))
        began = time.monotonic()
        one, other = pool.map(ask_for_all, connections)
        refilled = time.monotonic() - began
    assert burst <= len(one + other) <= burst + refilled
    assert len({*one, *other}) == len(one + other)


def test_the_manager_has_nothing_that_workers_must_not_share(
    server: Server, workers
) -> None:
    manager = psutil.Process(server.pid)
    assert manager.num_threads() <= 2  # one of them writes the log
    assert [file.path for file in manager.open_files() if "sqlite" in file.path] == []
    # Only the manager writes to standard output, because scripts parse it.
    for worker in workers:
        out, err = (os.readlink(f"/proc/{worker.pid}/fd/{n}") for n in (1, 2))
        assert out == err != os.readlink(f"/proc/{manager.pid}/fd/1")


@contextmanager
def server_that_stops(
    folder: Path, settings: dict[str, str], code: int = 0
) -> Iterator[tuple[Server, psutil.Process]]:
    """Yield a server with two workers, and one of them to freeze."""
    chosen = TWO_WORKERS | settings
    with ephemeral_server(folder, chosen, expected_exit_code=code) as server:
        with one_connection_per_worker(server):
            frozen, _ = api_workers(server)
        yield server, frozen


def test_a_stop_beside_a_frozen_worker_answers_or_refuses_every_connection(
    tmp_path: Path,
) -> None:
    # Long enough that the manager does not kill the frozen worker first.
    patient = {"READBACK_STOP_TIMEOUT": "300"}
    killed = 128 + signal.SIGKILL
    with server_that_stops(tmp_path, patient, killed) as (server, frozen):
        api, answered = Api.of(server), 0
        with suspended(frozen):
            os.kill(server.pid, signal.SIGTERM)
            with pytest.raises(ConnectionRefusedError):
                while True:
                    with api.endpoint.connect() as connection:
                        connection.send(api.chat_bytes(draft("x")))
                        assert_echo(connection.read_answer(), "x")
                        answered += 1
            assert not has_ended(frozen.pid)
            # A second signal kills the workers that are left.
            os.kill(server.pid, signal.SIGTERM)
            wait_until(lambda: has_ended(server.pid), "the server has ended")


def test_a_worker_that_hangs_does_not_keep_the_service_from_ending(
    tmp_path: Path,
) -> None:
    quick = {"READBACK_STOP_TIMEOUT": "1", "READBACK_STOP_NOTICE": "0.5"}
    with server_that_stops(tmp_path, quick) as (server, frozen):
        with suspended(frozen):
            os.kill(server.pid, signal.SIGTERM)
            # The manager kills it ten seconds after the timeout.
            wait_until(lambda: has_ended(server.pid), "the server has ended")
        wait_until(lambda: has_ended(frozen.pid), "the worker was killed")
