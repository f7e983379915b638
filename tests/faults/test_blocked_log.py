"""When nothing reads the log, lines are dropped and nothing waits."""

import fcntl
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.support.api import Api, assert_echo, draft
from tests.support.browser import Browser
from tests.support.cabinet_server import METRICS_TOKEN
from tests.support.processes import api_workers, has_ended
from tests.support.server import Server, ephemeral_server
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux can make a pipe as small as this"
)
# Enough for a busy machine. If the log blocked, a page would wait forever and a stop
# would take 35 seconds.
SECONDS = 20.0


class Pipe:
    """A named pipe as a log, which only `read_until` reads."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(self._descriptor, fcntl.F_SETPIPE_SZ, 4096)

    def fill(self) -> None:
        """Write until there is no room for another byte."""
        for size in (1024, 1):
            with suppress(BlockingIOError):
                while True:
                    os.write(self._descriptor, b"\n" * size)

    def read_until(self, is_enough: Callable[[str], bool]) -> None:
        data = bytearray()

        def has_enough() -> bool:
            with suppress(BlockingIOError):
                while True:
                    data.extend(os.read(self._descriptor, 4096))
            return is_enough(data.decode())

        wait_until(has_enough, lambda: f"lines are written: {data.decode()}", SECONDS)

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def pipe_at(path: Path) -> Iterator[Pipe]:
    pipe = Pipe(path)
    try:
        yield pipe
    finally:
        pipe.close()


@contextmanager
def server_with_blocked_log(folder: Path) -> Iterator[Server]:
    """Run a server with a full pipe as standard error."""
    settings = {"READBACK_METRICS_TOKEN": METRICS_TOKEN}
    path = folder / "stderr"
    with pipe_at(path) as pipe:
        pipe.fill()
        with ephemeral_server(folder, settings) as server:
            # A failing test reads this file, which must not block.
            path.unlink()
            path.touch()
            yield server


def workers_of(server: Server, part: str) -> set[int]:
    api = {worker.pid for worker in api_workers(server)}
    if part == "API":
        return api
    return {child.pid for child in psutil.Process(server.pid).children()} - api


def kill_a_worker(server: Server, part: str) -> None:
    """Kill a worker, so that the manager logs a line."""
    before = workers_of(server, part)
    os.kill(min(before), signal.SIGKILL)
    wait_until_replaced(server, part, {min(before)})


def wait_until_replaced(server: Server, part: str, gone: set[int]) -> None:
    def is_replaced() -> bool:
        now = workers_of(server, part)
        return bool(now) and not now & gone

    wait_until(is_replaced, f"the {part} has a new worker", SECONDS)


def fail_to_log_in(server: Server) -> None:
    """Send a wrong password, which the security log records."""
    browser = Browser(server.cabinet_url)
    browser.log_in("mallory@example.org", "wrong")
    assert browser.path == "/accounts/login/"


def assert_serves(server: Server) -> None:
    fail_to_log_in(server)
    assert_echo(Api.of(server).chat(draft("x")), "x")


def dropped(server: Server) -> int:
    """Return how many lines the cabinet counted as dropped."""
    headers = {"Authorization": f"Bearer {METRICS_TOKEN}"}
    page = httpx.get(f"{server.cabinet_url}/metrics", headers=headers, timeout=SECONDS)
    [count] = re.findall(
        r"^readback_log_lines_dropped_total (\S+)$", page.text, re.MULTILINE
    )
    return int(float(count))


def test_a_log_that_is_not_read_delays_nothing(tmp_path: Path) -> None:
    with server_with_blocked_log(tmp_path) as server:
        assert_serves(server)
        for part in ("API", "cabinet"):
            kill_a_worker(server, part)
        assert_serves(server)
        old = {part: workers_of(server, part) for part in ("API", "cabinet")}
        os.kill(server.pid, signal.SIGHUP)
        for part, gone in old.items():
            wait_until_replaced(server, part, gone)
        # The old worker could not write the line about the second login.
        wait_until(lambda: dropped(server) == 1, "it is counted", SECONDS)
        assert_serves(server)
        os.kill(server.pid, signal.SIGTERM)
        wait_until(lambda: has_ended(server.pid), "the server has ended", SECONDS)


def test_a_security_log_that_is_not_read_delays_no_login(tmp_path: Path) -> None:
    path = tmp_path / "security.jsonl"
    with pipe_at(path) as pipe:
        pipe.fill()
        settings = {"READBACK_SECURITY_LOG": str(path)}
        with ephemeral_server(tmp_path, settings) as server:
            for _ in range(3):
                fail_to_log_in(server)
            pipe.read_until(lambda text: text.count("login_failed") == 3)
