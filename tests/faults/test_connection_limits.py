"""Clients that open too many connections, or do not read their answers."""

import resource
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support.api import Api, assert_echo, draft
from tests.support.metrics import metrics, readiness
from tests.support.processes import api_workers
from tests.support.raw_requests import code_of
from tests.support.server import UNLIMITED, Server, api_server, ephemeral_server
from tests.support.waiting import wait_until
from tests.support.wire import Connection

MANY = UNLIMITED | {"READBACK_MAX_CONNECTIONS_PER_ADDRESS": "0"}


@contextmanager
def served(folder: Path, **settings: str) -> Iterator[tuple[Server, Api]]:
    changed = {f"READBACK_{name.upper()}": value for name, value in settings.items()}
    with api_server(folder, MANY | changed) as server:
        yield server, Api.of(server)


@contextmanager
def descriptors(number: int) -> Iterator[None]:
    """Limit the open files of this process and its children, as `ulimit -n` does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = number if hard == resource.RLIM_INFINITY else min(number, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(autouse=True)
def enough_descriptors() -> Iterator[None]:
    with descriptors(max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[0])):
        yield


def open_many(stack: ExitStack, api: Api, number: int) -> list[Connection]:
    return [stack.enter_context(api.endpoint.connect()) for _ in range(number)]


def assert_serves(connection: Connection, api: Api) -> None:
    connection.send(api.chat_bytes(draft("x")))
    assert_echo(connection.read_answer(), "x")


def share_of_a_core(worker: psutil.Process) -> float:
    """Return how much CPU time a worker uses in a second."""
    begun, before = time.monotonic(), sum(worker.cpu_times()[:2])
    time.sleep(1)
    return (sum(worker.cpu_times()[:2]) - before) / (time.monotonic() - begun)


def test_two_thousand_idle_connections_slow_no_client(tmp_path: Path) -> None:
    with served(tmp_path) as (server, api), ExitStack() as stack:
        idle = open_many(stack, api, 2000)
        for connection in (*idle[:3], *idle[-3:]):
            assert_serves(connection, api)
        [worker] = api_workers(server)
        # During this second, the server checks the deadlines of all connections twice.
        assert share_of_a_core(worker) < 0.5
        assert_serves(stack.enter_context(api.endpoint.connect()), api)


@pytest.mark.parametrize("limit", ["max_connections_per_address", "max_connections"])
def test_connections_beyond_a_limit_are_told_to_retry(
    tmp_path: Path, limit: str
) -> None:
    with served(tmp_path, **{limit: "5"}) as (_, api), ExitStack() as stack:
        connections = open_many(stack, api, 5)
        for connection in connections:
            assert_serves(connection, api)
        for _ in range(3):
            assert_told_to_retry(api)
        for connection in connections:
            assert_serves(connection, api)
        connections[0].__exit__(None, None, None)
        wait_until(lambda: _has_room(api), "there is room again")


def test_when_descriptors_run_out_the_ops_listener_works_and_nothing_spins(
    tmp_path: Path,
) -> None:
    with ExitStack() as server_stack, ExitStack() as stack:
        with descriptors(256):
            server, api = server_stack.enter_context(served(tmp_path))
        [worker] = api_workers(server)
        connection = stack.enter_context(api.endpoint.connect())
        assert_serves(connection, api)
        assert 100 < metrics(server.ops_url)["max_open_connections"] < 160
        _wait_until_told_to_retry(stack, api)
        # Many more connections than there are descriptors; they stay open.
        open_many(stack, api, 1000)
        for _ in range(10):
            assert readiness(server.ops_url) == (200, [])
        assert share_of_a_core(worker) < 0.5
        assert_serves(connection, api)
        wait_until(
            lambda: metrics(server.ops_url)["connections_refused_total"] > 500,
            "the refused connections are counted",
        )
        stack.close()
        wait_until(lambda: _has_room(api), "there is room again")
        assert api_workers(server) == [worker]


def _wait_until_told_to_retry(stack: ExitStack, api: Api) -> None:
    """Open connections until one is refused with an answer."""

    def refused() -> bool:
        connection = stack.enter_context(api.endpoint.connect())
        connection.send(api.chat_bytes(draft("x")))
        answer = connection.read_answer()
        return answer.status == 503 and code_of(answer) == "unavailable"

    wait_until(refused, "a connection is refused")


def assert_told_to_retry(api: Api) -> None:
    """Check that one more connection gets a 503 before it sends anything."""
    with api.endpoint.connect() as connection:
        answer = connection.read_answer()
        assert (answer.status, code_of(answer)) == (503, "unavailable")
        assert answer.header("Connection") == "close"
        assert int(answer.header("Retry-After") or 0) > 0
        assert connection.rest() == b""


def _has_room(api: Api) -> bool:
    try:
        with api.endpoint.connect() as connection:
            assert_serves(connection, api)
    except (AssertionError, OSError):
        return False
    return True


# A small receive buffer, so that the server has to keep what it accepts.
SMALL = 4096


def send_until_it_blocks(sock: socket.socket, raw: bytes, most: int) -> int:
    """Return how many bytes are accepted, or `most` if sending never blocks."""
    sock.settimeout(1)
    sent = 0
    try:
        while sent < most:
            sent += sock.send(raw[sent % len(raw) :])
    except TimeoutError:
        pass
    return sent


@pytest.mark.skipif(sys.platform != "linux", reason="the sizes are those of Linux")
def test_the_server_keeps_little_for_a_client_that_does_not_read(
    tmp_path: Path,
) -> None:
    with ephemeral_server(tmp_path, UNLIMITED) as server:
        api = Api.of(server)
        raw = api.chat_bytes(draft("x" * 8192))
        with socket.socket() as flood:
            flood.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
            flood.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
            flood.connect((api.endpoint.host, api.endpoint.port))
            # The kernel's buffers are limited to 128 KB, instead of 4 and 6 MB, and the
            # worker reads at most 512 KB that it cannot answer yet.
            limit = 2_000_000
            assert send_until_it_blocks(flood, raw, limit) < limit
            # The largest request is still accepted in one piece, and answered.
            with api.endpoint.connect() as connection:
                connection.send(raw)
                assert_echo(connection.read_answer(), "x" * 8192)
