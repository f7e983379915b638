"""A whole server as a process, with an account and a key.

It is started and stopped as an operator does it: by the command line, the environment
and signals. Keys are written to its database; tests/cli has the commands for them.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from readback import keys
from tests.support import migrated
from tests.support.commands import (
    Process,
    environment_with,
    run_readback,
    start_server,
)
from tests.support.database import Database
from tests.support.waiting import wait_until

START_SECONDS = 60.0
STOP_SECONDS = 30.0

UNLIMITED = {
    "READBACK_KEY_RATE": "1000000",
    "READBACK_KEY_BURST": "1000000",
    "READBACK_AUTH_FAILURE_RATE": "1000000",
    "READBACK_AUTH_FAILURE_BURST": "1000000",
}
"""Rates so high that only a test of the rates can reach one."""
LASTING = UNLIMITED | {"READBACK_STOP_NOTICE": "5"}
"""Stops like a server that is not ephemeral, with the default notice."""


@dataclass(frozen=True)
class Server:
    """What the server prints when it is ready, and its command line."""

    base_url: str
    api_key: str
    cabinet_url: str
    ops_url: str
    account_email: str
    data_dir: str
    pid: int
    environment: Mapping[str, str]
    folder: Path
    """Where the server writes everything: data/, stdout and stderr."""

    def run(self, *arguments: str) -> str:
        """Run a command on the data of this server; return its stdout."""
        return run_readback(self.environment, *arguments).stdout

    @property
    def database(self) -> Database:
        default = f"sqlite:///{self.data_dir}/readback.sqlite3"
        return Database(self.environment.get("READBACK_DATABASE_URL", default))

    def new_key(self) -> str:
        """Add a key to the account: `readback key create` without its process."""
        account = "SELECT id FROM cabinet_user WHERE email = ?"
        key = keys.mint()
        self.database.add_keys(self.database.value(account, self.account_email), [key])
        return key

    def revoke_key(self, key: str) -> None:
        """Revoke a key: `readback key revoke` without its process."""
        self.database.rows(
            "UPDATE cabinet_key SET revoked_at = ? WHERE digest = ?",
            *(self.database.moment(0), keys.digest(key.encode())),
        )


@contextmanager
def ephemeral_server(
    folder: Path,
    settings: Mapping[str, str],
    *,
    cold: bool = False,
    expected_exit_code: int = 0,
) -> Iterator[Server]:
    """Run `readback serve --ephemeral`; at the end stop it and expect an exit code.

    It does not inherit the READBACK_ variables of this process. A SQLite database is
    migrated already.
    """
    data = folder / "data"
    data.mkdir(mode=0o700)
    environment = environment_with({"READBACK_DATA_DIR": str(data), **settings})
    migrated.provide(environment)
    process = start_server(
        ["--ephemeral", "--json"],
        environment,
        stdout=folder / "stdout",
        stderr=folder / "stderr",
        cold=cold,
    )
    try:
        ready = _ready_line(process, folder)
        yield Server(**ready, environment=environment, folder=folder)
    finally:
        exit_code = _stop(process)
    assert exit_code == expected_exit_code, f"{exit_code}: {_stderr(folder)}"


def _ready_line(process: Process, folder: Path) -> dict[str, object]:
    """Return the line of JSON that the server prints when it is ready."""
    stdout = folder / "stdout"
    wait_until(
        lambda: "\n" in stdout.read_text() or process.poll() is not None,
        lambda: f"the server is ready: {_stderr(folder)}",
        START_SECONDS,
    )
    assert process.poll() is None, f"exit code {process.poll()}: {_stderr(folder)}"
    ready: dict[str, object] = json.loads(stdout.read_text().splitlines()[0])
    return ready


def _stop(process: Process) -> int:
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        # The group contains only the server and its workers.
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait(STOP_SECONDS)


def _stderr(folder: Path) -> str:
    return (folder / "stderr").read_text(errors="replace")[-4000:]
