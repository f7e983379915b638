"""A stop is announced to clients and balancers, and no request is refused."""

import os
import signal
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.error import URLError

import psutil
import pytest

from tests.support.api import Api, assert_echo, assert_refused, draft
from tests.support.authority import Authority
from tests.support.metrics import readiness
from tests.support.processes import has_ended, worker_pids
from tests.support.server import (
    LASTING,
    UNLIMITED,
    Server,
    api_server,
    ephemeral_server,
)
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Connection

NOTICE = 6.0
# About thirty times as long as a stop takes if it does not wait for the notice.
LONG_NOTICE = 40.0


def noticed(seconds: float) -> dict[str, str]:
    """Return the settings of a server that gives this notice before it stops."""
    # The notice is at most half of the timeout.
    timeout = {"READBACK_STOP_TIMEOUT": "100"}
    return UNLIMITED | timeout | {"READBACK_STOP_NOTICE": str(seconds)}


def wait_until_ended(server: Server) -> None:
    # `ephemeral_server` signals again at its end, which would kill a running server.
    wait_until(lambda: has_ended(server.pid), "the server has ended")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_readiness_fails_before_the_api_stops_accepting(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    settings = noticed(NOTICE)
    with ephemeral_server(tmp_path, settings, expected_exit_code=code) as server:
        workers = psutil.Process(server.pid).children()
        # One successful check is enough for a balancer to send requests.
        assert readiness(server.ops_url)[0] == 200
        # If the manager is killed, its workers stop, because nothing replaces them.
        os.kill(server.pid, number)
        wait_until(lambda: readiness(server.ops_url)[0] == 503, "/readyz answers 503")
        not_ready_at = time.monotonic()
        answered_at, statuses = serve_until_refused(server)
        assert answered_at - not_ready_at > NOTICE / 4
        assert len(statuses) > 3
        assert set(statuses) == {503}
        wait_until_ended(server)
        left = [worker.pid for worker in workers]
        wait_until(lambda: all(map(has_ended, left)), "the workers have ended")


def serve_until_refused(server: Server) -> tuple[float, list[int]]:
    """Send requests on new connections, and check readiness after each of them.

    Return when the last request was answered, and the statuses of the checks.
    """
    api, answered_at = Api.of(server), 0.0
    statuses: list[int] = []
    is_announced = False
    while True:
        try:
            connection = api.endpoint.connect()
        except OSError:
            assert is_announced
            return answered_at, statuses
        with connection:
            connection.send(api.chat_bytes(draft("x")))
            answer = connection.read_answer()
            assert_echo(answer, "x")
            # /readyz fails a moment before the manager's signal reaches the worker.
            closes = answer.header("Connection") == "close"
            assert closes or not is_announced
            is_announced = closes
            answered_at = time.monotonic()
        with suppress(URLError, OSError):  # this listener may close first
            statuses.append(readiness(server.ops_url)[0])
        time.sleep(0.05)  # leaves the cores to the server


def test_a_reload_is_not_announced_to_balancers(tmp_path: Path) -> None:
    with api_server(tmp_path, noticed(0.1)) as server:
        before, statuses = worker_pids(server), set()

        def is_replaced() -> bool:
            statuses.add(readiness(server.ops_url)[0])
            now = worker_pids(server)
            return bool(now) and not now & before

        os.kill(server.pid, signal.SIGHUP)
        wait_until(is_replaced, "the worker is replaced")
        assert statuses == {200}


def test_a_stop_without_connections_and_checks_is_immediate(tmp_path: Path) -> None:
    with ephemeral_server(tmp_path, noticed(LONG_NOTICE)) as server:
        [worker] = worker_pids(server)
        assert_echo(Api.of(server).chat(draft("x")), "x")
        begun = time.monotonic()
        os.kill(server.pid, signal.SIGTERM)
        wait_until(lambda: has_ended(worker), "the worker has ended")
        assert time.monotonic() - begun < LONG_NOTICE / 2
        wait_until_ended(server)


@contextmanager
def idle_connections(api: Api, number: int = 10) -> Iterator[list[Connection]]:
    """Open connections, each of which has received one answer."""
    with ExitStack() as stack:
        idle = [stack.enter_context(api.endpoint.connect()) for _ in range(number)]
        for connection in idle:
            connection.send(api.chat_bytes(draft("x")))
            assert_echo(connection.read_answer(), "x")
        yield idle


@pytest.mark.parametrize("alone", [True, False], ids=["one process", "process group"])
def test_ctrl_c_does_not_wait_for_idle_connections(tmp_path: Path, alone: bool) -> None:
    with (
        ephemeral_server(tmp_path, noticed(LONG_NOTICE)) as server,
        idle_connections(Api.of(server)) as idle,
    ):
        assert readiness(server.ops_url)[0] == 200  # checked as a balancer does
        [worker] = worker_pids(server)
        begun = time.monotonic()
        # A terminal sends the signal to its whole process group.
        (os.kill if alone else os.killpg)(server.pid, signal.SIGINT)
        wait_until(lambda: has_ended(worker), "the worker has ended")
        assert time.monotonic() - begun < LONG_NOTICE / 2
        assert all(connection.rest() == b"" for connection in idle)
        wait_until_ended(server)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_idle_connection_can_send_one_more_request_during_the_notice(
    tmp_path: Path, number: signal.Signals
) -> None:
    with api_server(tmp_path, noticed(LONG_NOTICE)) as server:
        api, before = Api.of(server), worker_pids(server)
        with idle_connections(api) as idle:
            os.kill(server.pid, number)
            wait_until(lambda: not worker_pids(server) & before, "it does not listen")
            for connection in idle:
                connection.send(api.chat_bytes(draft("late")))
                answer = connection.read_answer()
                assert_echo(answer, "late")
                assert answer.header("Connection") == "close"
                assert connection.rest() == b""
        if number == signal.SIGTERM:
            wait_until_ended(server)


def test_a_connection_that_stays_idle_is_closed_cleanly(tmp_path: Path) -> None:
    with api_server(tmp_path, noticed(1)) as server:
        api = Api.of(server)
        with idle_connections(api) as idle:
            os.kill(server.pid, signal.SIGTERM)
            for connection in idle:
                assert connection.at_end()
            # Bytes that are sent now do not cause a reset.
            for connection in idle:
                connection.send(api.chat_bytes(draft("too late")))
                assert connection.at_end()
        wait_until_ended(server)


def test_a_stop_loses_no_request_over_tls_and_does_not_wait_for_clients(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path / "authority")
    certificate = str(authority.issue("localhost"))
    trust = ssl.create_default_context(cafile=str(authority.root))
    settings = noticed(NOTICE) | {
        "READBACK_TLS_CERTIFICATE": certificate,
        "READBACK_TLS_KEY": certificate,
    }
    with ephemeral_server(tmp_path, settings) as server, ExitStack() as stack:
        api = Api.of(server)

        def connect() -> socket.socket:
            address = ("127.0.0.1", api.endpoint.port)
            return stack.enter_context(socket.create_connection(address, PATIENCE))

        def start_tls(raw: socket.socket) -> Connection:
            wrapped = trust.wrap_socket(raw, server_hostname="localhost")
            return stack.enter_context(Connection(wrapped))

        idle, silent, shaking = start_tls(connect()), connect(), connect()
        os.kill(server.pid, signal.SIGTERM)
        # A handshake that had begun is finished, and the request after it is answered.
        for connection in (start_tls(shaking), idle):
            connection.send(api.chat_bytes(draft("late")))
            assert_echo(connection.read_answer(), "late")
        # The server ends although no client closes its end.
        wait_until_ended(server)
        assert silent.recv(1) == b""


def test_an_unfinished_request_delays_a_stop_only_until_its_time_out(
    tmp_path: Path,
) -> None:
    # Only the stop's timeout can end the request.
    settings = LASTING | {"READBACK_STOP_TIMEOUT": "1", "READBACK_BODY_TIMEOUT": "300"}
    with ephemeral_server(tmp_path, settings) as server:
        api = Api.of(server)
        with idle_connections(api, 1) as [connection]:
            connection.send(api.chat_bytes(draft("x"))[:-1])
            os.kill(server.pid, signal.SIGTERM)
            wait_until_ended(server)


def test_a_key_revoked_during_the_notice_is_refused(tmp_path: Path) -> None:
    with api_server(tmp_path, noticed(LONG_NOTICE)) as server:
        api, before = Api.of(server), worker_pids(server)
        with idle_connections(api, 40) as idle:
            os.kill(server.pid, signal.SIGHUP)
            wait_until(lambda: not worker_pids(server) & before, "it does not listen")
            server.revoke_key(api.key)
            begun, asked = time.monotonic(), 0

            def is_refused() -> bool:
                # Each connection has one request left, so use four in a second. One
                # second is promised; ten allow for a busy machine.
                nonlocal asked
                if time.monotonic() - begun < asked / 4:
                    return False
                idle[asked].send(api.chat_bytes(draft("x")))
                answer = idle[asked].read_answer()
                asked += 1
                if answer.status == 200:
                    return False
                assert_refused(answer, "invalid_key")
                return True

            wait_until(is_refused, "the key is refused")
