"""A stop while a worker hangs: new clients are refused, and do not wait for its end."""

import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support.api import Api, assert_echo, draft
from tests.support.cabinet_server import cabinet_server
from tests.support.processes import (
    api_workers,
    has_ended,
    one_connection_per_worker,
)
from tests.support.server import UNLIMITED, ephemeral_server
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux can turn clients away"
)
# The master kills the worker that hangs ten seconds later; no test waits for that.
PATIENT = {"READBACK_STOP_TIMEOUT": "600"}


@contextmanager
def hanging(process: psutil.Process) -> Iterator[None]:
    """Let a process hang; it has not ended when the test is over."""
    process.suspend()
    try:
        yield
        assert process.status() == psutil.STATUS_STOPPED
    finally:
        process.resume()


def wait_until_refused(endpoint: Endpoint) -> None:
    """Wait until a client is refused; one that is turned away would get no answer."""
    wait_until(lambda: is_refused(endpoint), "new clients are refused")
    assert is_refused(endpoint)


def is_refused(endpoint: Endpoint) -> bool:
    try:
        socket.create_connection((endpoint.host, endpoint.port), timeout=0.5).close()
    except ConnectionRefusedError:
        return True
    except TimeoutError:
        return False
    return False


@pytest.mark.parametrize("idle", [True, False], ids=["idle", "with clients"])
def test_the_api_refuses_clients_while_one_of_two_workers_hangs(
    tmp_path: Path, idle: bool
) -> None:
    settings = UNLIMITED | PATIENT | {"READBACK_WORKERS": "2"}
    with ephemeral_server(tmp_path, settings) as server:
        api = Api.of(server)
        with one_connection_per_worker(server) as connections:
            first, second = api_workers(server)
            if idle:
                for connection in connections:
                    connection.finish_sending()
                    assert connection.at_end()
            with hanging(first):
                os.kill(server.pid, signal.SIGTERM)
                wait_until_refused(api.endpoint)
                wait_until(lambda: has_ended(second.pid), "the other has ended")
                wait_until_refused(api.endpoint)
        wait_until(lambda: has_ended(server.pid), "the server has ended")
        log = (server.folder / "stderr").read_text()
    # The worker that hangs may hold the lock of the database.
    others = [line for line in log.splitlines() if "SQLITE_BUSY" not in line]
    assert not re.search("Traceback|error", "\n".join(others), re.IGNORECASE), log


def test_the_api_refuses_clients_while_its_only_worker_hangs(tmp_path: Path) -> None:
    settings = UNLIMITED | PATIENT | {"READBACK_WORKERS": "1"}
    with ephemeral_server(tmp_path, settings) as server:
        api = Api.of(server)
        [worker] = api_workers(server)
        with api.endpoint.connect() as known:
            known.send(api.chat_bytes(draft("x")))
            assert_echo(known.read_answer(), "x")
            with hanging(worker):
                known.send(api.chat_bytes(draft("late")))
                os.kill(server.pid, signal.SIGTERM)
                wait_until_refused(api.endpoint)
            # It finishes what it had begun as soon as it no longer hangs.
            assert_echo(known.read_answer(), "late")
        wait_until(lambda: has_ended(server.pid), "the server has ended")


def test_the_cabinet_refuses_clients_while_one_of_two_workers_hangs(
    tmp_path: Path,
) -> None:
    settings = PATIENT | {"READBACK_CABINET_WORKERS": "2"}
    with cabinet_server(tmp_path, settings) as server:
        workers = psutil.Process(server.pid).children
        wait_until(lambda: len(workers()) == 2, "two workers run")
        with hanging(workers()[0]):
            os.kill(server.pid, signal.SIGTERM)
            wait_until_refused(Endpoint.of(server.url))
        wait_until(lambda: has_ended(server.pid), "the server has ended")
        assert "Traceback" not in server.stderr
