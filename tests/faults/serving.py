"""`readback serve` with addresses of the test's choice, and a key made beside it."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.waiting import wait_until

EMAIL = "alice@example.org"


@dataclass(frozen=True)
class Running:
    """A server that is ready."""

    key: str
    settings: Mapping[str, str]

    @property
    def api_address(self) -> tuple[str, int]:
        host, port = self.settings["READBACK_API_BIND"].rsplit(":", 1)
        return host, int(port)


def free_port(host: str = "127.0.0.1") -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as sock:
        sock.bind((host, 0))
        return sock.getsockname()[1]


@contextmanager
def running(folder: Path, settings: Mapping[str, str]) -> Iterator[Running]:
    """Serve both planes on a database of their own; at the end ask for exit code 0."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    environment = {
        **inherited,
        "READBACK_DATA_DIR": str(folder / "data"),
        "READBACK_WORKERS": "1",
        "READBACK_CABINET_BIND": f"127.0.0.1:{free_port()}",
        "READBACK_OPS_BIND": f"127.0.0.1:{free_port()}",
        **settings,
    }
    out = folder / "output"
    with out.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "readback", "serve"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until(
            lambda: "is running" in out.read_text() or _ended(process), "ready", 60
        )
        assert not _ended(process), out.read_text()
        yield Running(_new_key(environment), settings)
    finally:
        process.send_signal(signal.SIGTERM)
        exit_code = process.wait(40)
    assert exit_code == 0, out.read_text()
    assert not re.search("Traceback|internal error", out.read_text()), out.read_text()


def _ended(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is not None


def _new_key(environment: Mapping[str, str]) -> str:
    _command(environment, "account", "create", EMAIL, "--confirmed")
    return _command(environment, "key", "create", EMAIL, "--name", "faults").strip()


def _command(environment: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "readback", *arguments],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
