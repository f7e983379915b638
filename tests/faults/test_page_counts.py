"""The cabinet's pages are counted exactly, even if a worker is killed."""

import re
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from readback.processes import metrics
from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.promtool import run_promtool
from tests.support.waiting import PATIENCE, wait_until

PAGES = 20


def get(server: CabinetServer, path: str) -> str:
    """Visit a page on a new connection, which any worker may accept."""
    with urllib.request.urlopen(server.url + path, timeout=PATIENCE) as page:
        return page.read().decode("utf-8", "replace")


def values(server: CabinetServer) -> dict[str, float]:
    found = re.findall(r"^readback_(\S+) (\S+)$", server.metrics(), re.MULTILINE)
    return {name: float(value) for name, value in found}


def workers(server: CabinetServer) -> set[int]:
    return {each.pid for each in psutil.Process(server.pid).children()}


def test_any_worker_answers_for_all_and_a_killed_one_loses_nothing(tmp_path: Path):
    with cabinet_server(tmp_path, {"READBACK_CABINET_WORKERS": "2"}) as server:
        wait_until(lambda: len(workers(server)) == 2, "two workers run")
        before = workers(server)
        for _ in range(PAGES):
            get(server, "/privacy")
        get(server, "/keys/123/")  # redirects to the login page
        with pytest.raises(urllib.error.HTTPError, match="404"):
            get(server, "/secret-path")
        get(server, "/favicon.ico")

        found = values(server)
        assert found['pages_total{status="200"}'] == PAGES + 1
        assert found['pages_total{status="404"}'] == 1
        assert "123" not in server.metrics() and "secret" not in server.metrics()

        psutil.Process(min(before)).kill()
        wait_until(lambda: values(server)["worker_deaths_total"] == 1, "it is counted")
        wait_until(lambda: len(workers(server) - before) == 1, "it is replaced")
        get(server, "/privacy")
        assert values(server)['pages_total{status="200"}'] == PAGES + 2

        described = re.findall(r"^# HELP readback_(\w+) (.+)$", server.metrics(), re.M)
        listed = metrics.COMMON | metrics.CABINET
        del listed["last_backup_timestamp_seconds"]  # no backup was made
        assert dict(described) == listed
        run_promtool("check", "metrics", text=server.metrics())
