"""Two cabinets behind HAProxy with the shipped configuration, stopped in turn."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.commands import free_port
from tests.support.haproxy import on_loopback, statistics
from tests.support.processes import has_ended
from tests.support.visitors import visitors
from tests.support.waiting import wait_until

SHIPPED = Path(__file__).parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
# Loopback addresses that no other test uses, in place of those in the file.
NETWORK = f"127.88.{os.getpid() % 250}"


@pytest.mark.skipif(not HAPROXY, reason="haproxy is not installed")
def test_behind_haproxy_no_visit_fails_when_cabinets_are_restarted(
    tmp_path: Path,
) -> None:
    with (
        _haproxy(tmp_path) as balancer,
        _cabinet(tmp_path, "11") as one,
        _cabinet(tmp_path, "12") as two,
    ):
        wait_until(lambda: balancer.up() == 2, "both cabinets are up", 20)
        with visitors(balancer.url, ends_when_refused=False) as seen:
            wait_until(lambda: seen.answered > 50, "50 visits", 20)
            _stop(one)
            with _cabinet(tmp_path, "11"):
                wait_until(lambda: balancer.up() == 2, "both cabinets are up", 20)
                _stop(two)
                before = seen.answered
                wait_until(lambda: seen.answered > before + 50, "50 visits", 20)
                seen.stop.set()
        assert (seen.lost, seen.wrong, seen.refused) == ([], [], 0)


class Balancer:
    def __init__(self, folder: Path) -> None:
        self._port, self._control = free_port(), folder / "control"
        self.url = f"http://127.0.0.1:{self._port}"
        self.file = folder / "haproxy.cfg"
        self.file.write_text(self._configuration(), encoding="utf-8")

    def up(self) -> int:
        """Return how many cabinets get requests."""
        return sum(
            row["status"].startswith("UP")
            for row in statistics(self._control)
            if row["pxname"] == "cabinets" and row["svname"] != "BACKEND"
        )

    def _configuration(self) -> str:
        shipped = SHIPPED.read_text(encoding="utf-8")
        for old, new in {
            "bind :8081": f"bind 127.0.0.1:{self._port}",
            "\nglobal\n": f"\nglobal\n    stats socket {self._control}\n",
        }.items():
            assert old in shipped
            shipped = shipped.replace(old, new)
        return on_loopback(shipped, f"{NETWORK}.")


@contextmanager
def _haproxy(folder: Path) -> Iterator[Balancer]:
    balancer = Balancer(folder)
    with (folder / "haproxy.log").open("wb") as log:
        # Within the usual limit on open files.
        command = [str(HAPROXY), "-db", "-n", "400", "-f", str(balancer.file)]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield balancer
    finally:
        process.kill()
        process.wait()


def _cabinet(folder: Path, number: str) -> AbstractContextManager[CabinetServer]:
    own = folder / number
    own.mkdir(exist_ok=True)
    settings = {
        "READBACK_CABINET_BIND": f"{NETWORK}.{number}:8001",
        "READBACK_STOP_TIMEOUT": "6",
    }
    return cabinet_server(own, settings)


def _stop(server: CabinetServer) -> None:
    os.kill(server.pid, signal.SIGTERM)
    wait_until(lambda: has_ended(server.pid), "the cabinet has ended", 20)
