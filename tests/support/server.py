"""A server of the product as a process of its own, with an account and a key.

It is started, asked and stopped the way an operator does it: by the command line,
the environment and signals. Nothing here looks inside the package.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60.0
STOP_SECONDS = 30.0

UNLIMITED = {
    "READBACK_KEY_RATE": "1000000",
    "READBACK_KEY_BURST": "1000000",
    "READBACK_AUTH_FAILURE_RATE": "1000000",
    "READBACK_AUTH_FAILURE_BURST": "1000000",
}
"""Rates so high that a test of something else never meets them."""


@dataclass(frozen=True)
class Server:
    """What the server says of itself when it is ready, and its command line."""

    base_url: str
    api_key: str
    cabinet_url: str
    ops_url: str
    account_email: str
    pid: int
    environment: Mapping[str, str]
    folder: Path
    """Everything the server writes: data/, stdout and stderr."""

    def run(self, *arguments: str) -> str:
        """Run a command beside the server, on its data; return its stdout."""
        done = subprocess.run(
            [sys.executable, "-m", "readback", *arguments],
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
        )
        assert done.returncode == 0, f"{arguments}: {done.returncode} {done.stderr}"
        return done.stdout

    def new_key(self, name: str, expires_in: str | None = None) -> str:
        expiry = ["--expires-in", expires_in] if expires_in else []
        created = self.run("key", "create", self.account_email, "--name", name, *expiry)
        return created.strip()

    def revoke_key(self, key: str) -> None:
        """Revoke a key by the id that `key list` shows beside its last characters."""
        listing = self.run("key", "list", self.account_email)
        [row] = [line for line in listing.splitlines() if f"…{key[-4:]}" in line]
        first_word = re.search(r"[0-9A-Za-z-]+", row)
        assert first_word, row
        self.run("key", "revoke", first_word[0], "--yes")


@contextmanager
def ephemeral_server(folder: Path, settings: Mapping[str, str]) -> Iterator[Server]:
    """Run `readback serve --ephemeral`; on leaving, stop it and ask for exit code 0.

    Settings of the surrounding environment do not reach it.
    """
    data = folder / "data"
    data.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    environment |= {"READBACK_DATA_DIR": str(data), **settings}
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "readback", "serve", "--ephemeral", "--json"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    try:
        said = _ready_line(process, folder)
        yield Server(**said, environment=environment, folder=folder)
    finally:
        exit_code = _stop(process)
    assert exit_code == 0, f"exit code {exit_code}: {_stderr(folder)}"


def _ready_line(process: subprocess.Popen[bytes], folder: Path) -> dict[str, object]:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        line, end, _ = (folder / "stdout").read_text().partition("\n")
        if end:
            return json.loads(line)
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise AssertionError(f"did not get ready ({process.poll()}): {_stderr(folder)}")


def _stop(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        # The group has no one but the server and its workers in it.
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def _stderr(folder: Path) -> str:
    return (folder / "stderr").read_text(errors="replace")[-4000:]
