"""The API or the cabinet on a machine of its own."""

import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests.fleet import balancer, database_machine
from tests.fleet.network import NETWORKS, Network
from tests.support.commands import environment_with
from tests.support.processes import kill_all
from tests.support.waiting import wait_until

START_SECONDS = 60.0
STOP_SECONDS = 45.0


@dataclass
class Member:
    """A replica of the API or the cabinet."""

    network: Network
    machine: str
    number: int
    part: str
    """`api` or `cabinet`."""
    folder: Path
    _process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        return f"{NETWORKS['front']}.{self.number}"

    @property
    def environment(self) -> dict[str, str]:
        return environment_with(
            {
                "READBACK_DATA_DIR": str(self.folder / self.machine),
                "READBACK_DATABASE_URL": database_machine.URL,
                "READBACK_SECRET_KEY": "the same on every machine " * 2,
                "READBACK_TRUSTED_PROXY_COUNT": "1",
                # With several workers, only one of them might know a key.
                "READBACK_WORKERS": "1",
                # The balancer checks twice a second.
                "READBACK_STOP_NOTICE": "2",
                "READBACK_API_BIND": f"{self.host}:8000",
                "READBACK_CABINET_BIND": f"{self.host}:8001",
                "READBACK_OPS_BIND": f"{self.host}:8002",
                "READBACK_CABINET_URL": f"http://{balancer.CABINET.authority}",
            }
        )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def begin(self) -> None:
        """Start the replica, without waiting until it is ready."""
        program = [sys.executable, "-m", "readback", "serve", self.part]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self.network.command(self.machine, *program),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        with self.network.on(balancer.MACHINE):
            wait_until(
                lambda: self._is_ready() or not self.is_running,
                lambda: f"{self.machine} is ready: {self.log[-2000:]}",
                START_SECONDS,
            )
        assert self.is_running, self.log[-2000:]

    def start(self) -> None:
        self.begin()
        self.wait_until_ready()

    def stop(self) -> None:
        self.begin_to_stop()
        self.wait_until_stopped()

    def begin_to_stop(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGTERM)

    def wait_until_stopped(self) -> None:
        """Wait for a graceful shutdown, and expect exit code 0."""
        assert self._process
        try:
            assert self._process.wait(STOP_SECONDS) == 0, self.log[-2000:]
        finally:
            self.kill()

    def kill(self) -> None:
        """End all of the replica's processes without warning."""
        if self._process:
            if self.is_running:
                kill_all(self._process.pid)
            self._process.wait(10)
        self._process = None

    def check_log(self) -> None:
        assert not re.search("Traceback|internal error", self.log), self.log

    @property
    def _log(self) -> Path:
        return self.folder / f"{self.machine}.log"

    def _is_ready(self) -> bool:
        check = ":8002/readyz" if self.part == "api" else ":8001/healthz"
        try:
            urllib.request.urlopen(f"http://{self.host}{check}", timeout=5).close()
        except (urllib.error.URLError, OSError):
            return False
        return True
