"""Two workers, each with a listening socket of its own: who serves its queue."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest

from tests.support.api import Api, assert_echo, draft
from tests.support.metrics import metrics
from tests.support.processes import (
    api_workers,
    has_ended,
    listening_descriptors,
    one_connection_per_worker,
    reload,
)
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.waiting import wait_until
from tests.support.wire import Connection

pytestmark = pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux distributes connections over several sockets",
)
TWO_WORKERS = UNLIMITED | {"READBACK_WORKERS": "2"}
# The kernel gives each of two workers some of this many connections.
SOME = 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ephemeral_server(tmp_path_factory.mktemp("server"), TWO_WORKERS) as server:
        yield server


@pytest.fixture
def workers(server: Server) -> list[psutil.Process]:
    """Both workers, which accept connections."""
    with one_connection_per_worker(server):
        return api_workers(server)


@contextmanager
def suspended(process: psutil.Process) -> Iterator[None]:
    process.suspend()
    try:
        yield
    finally:
        # A test may have killed it, and its master may have noticed already.
        with suppress(psutil.NoSuchProcess):
            process.resume()


def ask(stack: ExitStack, api: Api) -> list[Connection]:
    """Send a request on each of some new connections."""
    asked = [stack.enter_context(api.endpoint.connect()) for _ in range(SOME)]
    for connection in asked:
        connection.send(api.chat_bytes(draft("x")))
    return asked


def assert_all_answered(asked: list[Connection]) -> None:
    for connection in asked:
        assert_echo(connection.read_answer(), "x")


def test_each_worker_accepts_only_for_itself(server: Server, workers) -> None:
    wait_until(
        lambda: [listening_descriptors(server, each) for each in workers] == [3, 3],
        "each worker has both sockets, and a copy of the one from which it accepts",
    )


def test_the_queue_of_a_worker_that_hangs_is_served_by_the_other(
    server: Server, workers
) -> None:
    api = Api.of(server)
    with ExitStack() as stack:
        with suspended(workers[0]):
            for _ in range(3):
                assert_all_answered(ask(stack, api))
        # Both accept again.
        with one_connection_per_worker(server):
            assert api_workers(server) == workers


def test_the_queue_of_a_killed_worker_is_not_lost(server: Server, workers) -> None:
    victim = workers[0]
    with ExitStack() as stack:
        with suspended(victim):
            asked = ask(stack, Api.of(server))
            victim.kill()
        assert_all_answered(asked)
    wait_until(lambda: len(api_workers(server)) == 2, "it is replaced")
    # Workers that a reload replaces are told to end, and are no deaths.
    reload(server)
    wait_until(lambda: metrics(server.ops_url)["workers"] == 2, "two are alive")
    assert metrics(server.ops_url)["worker_deaths_total"] == 1


def test_a_stop_empties_the_queue_of_a_worker_that_hangs(tmp_path) -> None:
    with ephemeral_server(tmp_path, TWO_WORKERS) as server, ExitStack() as stack:
        with one_connection_per_worker(server):
            hanging, _ = api_workers(server)
            with suspended(hanging):
                asked = ask(stack, Api.of(server))
                os.kill(server.pid, signal.SIGTERM)
                assert_all_answered(asked)
        wait_until(lambda: has_ended(server.pid), "the server has ended")


def test_a_worker_that_hangs_does_not_keep_the_service_from_ending(tmp_path) -> None:
    quick = {"READBACK_STOP_TIMEOUT": "1", "READBACK_STOP_NOTICE": "0.5"}
    with ephemeral_server(tmp_path, TWO_WORKERS | quick) as server:
        with one_connection_per_worker(server):
            hanging, _ = api_workers(server)
        with suspended(hanging):
            os.kill(server.pid, signal.SIGTERM)
            # The master kills it ten seconds after the time-out.
            wait_until(lambda: has_ended(server.pid), "the server has ended")
        wait_until(lambda: has_ended(hanging.pid), "the worker was killed")
