"""Stopping and reloading the cabinet while visitors use it."""

import http.client
import os
import signal
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import psutil

from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.processes import has_ended
from tests.support.traffic import pages, traffic
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Endpoint

# Of ten visitors: some hardly pause, some leave their connection idle.
VISITS = {"clients": 10, "pauses": (0.02, 0.02, 0.05, 0.05, 0.2, 0.2, 0.5, 0.5, 1, 1)}


def test_a_reload_loses_no_visit(tmp_path: Path) -> None:
    with cabinet_server(tmp_path, {"READBACK_CABINET_WORKERS": "2"}) as server:
        wait_until(lambda: len(_workers(server)) == 2, "two workers run")
        endpoint = Endpoint.of(server.url)
        with (
            traffic(endpoint, pages(endpoint), **VISITS) as visits,
            traffic(endpoint, pages(endpoint, "/healthz", "HEAD"), **VISITS) as checks,
        ):
            for _ in range(2):
                _reload(server)
                visits.wait_for(50)
        # The service as a whole is not stopping, so no health check fails.
        assert visits.problems == checks.problems == {}
        assert "Traceback" not in server.stderr


def test_a_stop_loses_no_visit_and_fails_health_checks_first(tmp_path: Path) -> None:
    with (
        cabinet_server(tmp_path, {"READBACK_STOP_TIMEOUT": "6"}) as server,
        OpenConnection(server) as idle,
        traffic(
            endpoint := Endpoint.of(server.url),
            pages(endpoint),
            **VISITS,
            until_refused=True,
        ) as seen,
    ):
        seen.wait_for(50)
        # A balancer sends requests after the first check.
        assert _status(server, "/healthz") == 200
        os.kill(server.pid, signal.SIGTERM)
        wait_until(lambda: _status(server, "/healthz") == 503, "the check fails")
        # A client that does not know of the stop.
        answer = idle.get("/")
        assert (answer.status, answer.getheader("Connection")) == (200, "close")
        wait_until(lambda: has_ended(server.pid), "the cabinet has ended")
        assert seen.problems == {}
        assert "Traceback" not in server.stderr


class OpenConnection(http.client.HTTPConnection):
    """A connection that has had one answer, and stays open."""

    def __init__(self, server: CabinetServer) -> None:
        super().__init__(urlsplit(server.url).netloc, timeout=PATIENCE)

    def __enter__(self) -> Self:
        assert self.get("/").status == 200
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, path: str) -> http.client.HTTPResponse:
        self.request("GET", path)
        answer = self.getresponse()
        answer.read()
        return answer


def _status(server: CabinetServer, path: str) -> int:
    with OpenConnection(server) as connection:
        return connection.get(path).status


def _reload(server: CabinetServer) -> None:
    """Replace the workers, and wait until the old ones have ended."""
    before = _workers(server)
    os.kill(server.pid, signal.SIGHUP)
    wait_until(lambda: not _workers(server) & before, "the workers are replaced")
    wait_until(lambda: len(_workers(server)) == len(before), "new workers run")


def _workers(server: CabinetServer) -> set[int]:
    return {child.pid for child in psutil.Process(server.pid).children()}
