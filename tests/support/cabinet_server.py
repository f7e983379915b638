"""The cabinet alone as a process, configured by its environment."""

import os
import signal
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support import migrated
from tests.support.commands import environment_with, free_port, run_readback
from tests.support.processes import kill_all
from tests.support.server import started
from tests.support.waiting import PATIENCE

METRICS_TOKEN = "only-for-tests-of-metrics"


@dataclass(frozen=True)
class CabinetServer:
    url: str
    """Where it listens; its public address may differ."""
    environment: Mapping[str, str]
    folder: Path
    pid: int

    def kill(self) -> None:
        kill_all(self.pid)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def metrics(self) -> str:
        """Return the text that Prometheus would read."""
        request = urllib.request.Request(
            f"{self.url}/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read().decode()

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text(errors="replace")

    def run(self, *arguments: str, stdin: str = "") -> str:
        """Run a command on this server's data; return stdout and stderr."""
        done = run_readback(self.environment, *arguments, stdin=stdin)
        return done.stdout + done.stderr


@contextmanager
def cabinet_server(
    folder: Path, settings: Mapping[str, str]
) -> Iterator[CabinetServer]:
    """Run the cabinet with its data in the folder.

    A PostgreSQL database must be migrated.
    """
    environment = environment_with(
        {
            "READBACK_DATA_DIR": str(folder / "data"),
            "READBACK_CABINET_BIND": f"127.0.0.1:{free_port()}",
            "READBACK_METRICS_TOKEN": METRICS_TOKEN,
            **settings,
        }
    )
    migrated.provide(environment)
    url = f"http://{environment['READBACK_CABINET_BIND']}"

    def answers() -> bool:
        # Not /healthz: after a request for it, the server delays its stop.
        urllib.request.urlopen(f"{url}/robots.txt", timeout=5).close()
        return True

    with started(
        ["cabinet"],
        environment,
        folder,
        answers,
        # Like Ctrl-C, this does not wait for clients that keep their connections open.
        stop=signal.SIGINT,
        expected_exit_code=None,
    ) as process:
        yield CabinetServer(url, environment, folder, process.pid)
