"""The cabinet as a process of its own, set by the environment as an operator does it.

For what only a real server shows: headers on the wire, several workers, the log.
Nothing here looks inside the package.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0


@dataclass(frozen=True)
class CabinetServer:
    url: str
    """Where it really listens, whatever address it is told to show."""
    environment: Mapping[str, str]
    folder: Path

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text(errors="replace")

    def run(self, *arguments: str, stdin: str = "") -> str:
        """Run a command beside the server, on its data; give what it printed."""
        return _run(self.environment, *arguments, stdin=stdin)


@contextmanager
def cabinet_server(
    folder: Path, settings: Mapping[str, str]
) -> Iterator[CabinetServer]:
    """Migrate a database under the folder and serve the cabinet until the end."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    port = _free_port()
    environment = {
        **clean,
        "READBACK_DATA_DIR": str(folder / "data"),
        "READBACK_CABINET_BIND": f"127.0.0.1:{port}",
        **settings,
    }
    _run(environment, "migrate")
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "readback", "serve", "cabinet"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    server = CabinetServer(f"http://127.0.0.1:{port}", environment, folder)
    try:
        _wait_until_ready(process, server)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def _run(environment: Mapping[str, str], *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "readback", *arguments],
        env=dict(environment),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{arguments}: {done.returncode} {done.stderr}"
    return done.stdout + done.stderr


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(process: subprocess.Popen[bytes], server: CabinetServer) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{server.url}/healthz", timeout=5).close()
            return
        except urllib.error.URLError:
            time.sleep(0.05)
    raise AssertionError(f"did not get ready ({process.poll()}): {server.stderr}")
