"""A whole server as a process, with an account and a key.

It is started and stopped as an operator would, but keys are written directly to its
database. tests/cli tests the commands for keys.
"""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from readback import keys
from tests.support import migrated
from tests.support.commands import (
    Process,
    environment_with,
    free_port,
    run_readback,
    start_server,
)
from tests.support.database import Database
from tests.support.metrics import is_ready
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Endpoint

EMAIL = "alice@example.org"

UNLIMITED = {"READBACK_KEY_RATE": "0"}
"""The default of an ephemeral server."""
LASTING = UNLIMITED | {"READBACK_STOP_NOTICE": "5"}
"""With READBACK_STOP_NOTICE at the default of a server that is not ephemeral."""


@dataclass(frozen=True)
class Server:
    """What the server prints when it is ready, and what commands on its data need."""

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

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint.of(self.base_url)

    def run(self, *arguments: str) -> str:
        """Run a command on this server's data; return its stdout."""
        return run_readback(self.environment, *arguments).stdout

    @property
    def database(self) -> Database:
        default = f"sqlite:///{self.data_dir}/readback.sqlite3"
        return Database(self.environment.get("READBACK_DATABASE_URL", default))

    def new_key(self, rehearse: str = "") -> str:
        """Add a key as `readback key create` does, but in this process."""
        account = "SELECT id FROM cabinet_user WHERE email = ?"
        key = keys.mint()
        owner = self.database.value(account, self.account_email)
        self.database.add_keys(owner, [key], rehearse)
        return key

    def revoke_key(self, key: str) -> None:
        """Revoke a key as `readback key revoke` does, but in this process."""
        self.database.revoke_key(key)


@contextmanager
def ephemeral_server(
    folder: Path,
    settings: Mapping[str, str],
    *,
    cold: bool = False,
    expected_exit_code: int = 0,
) -> Iterator[Server]:
    """Run `readback serve --ephemeral`; stop it at the end, and check its exit code.

    A SQLite database is migrated in advance.
    """
    data = folder / "data"
    data.mkdir(mode=0o700)
    environment = environment_with({"READBACK_DATA_DIR": str(data), **settings})
    migrated.provide(environment)
    stdout = folder / "stdout"
    with started(
        ["--ephemeral", "--json"],
        environment,
        folder,
        lambda: "\n" in stdout.read_text(),
        cold=cold,
        expected_exit_code=expected_exit_code,
    ):
        ready = json.loads(stdout.read_text().splitlines()[0])
        yield Server(**ready, environment=environment, folder=folder)


@contextmanager
def api_server(
    folder: Path, settings: Mapping[str, str], *, key: str = "", is_killed: bool = False
) -> Iterator[Server]:
    """Run `readback serve api`, with a new key for Alice unless one is given.

    It takes half as much CPU time as a whole service.
    """
    folder.mkdir(exist_ok=True)
    data = folder / "data"
    environment = environment_with(
        {
            "READBACK_DATA_DIR": str(data),
            "READBACK_DATABASE_URL": f"{migrated.SQLITE}{data}/readback.sqlite3",
            "READBACK_API_BIND": f"127.0.0.1:{free_port()}",
            "READBACK_OPS_BIND": f"127.0.0.1:{free_port()}",
            "READBACK_STOP_NOTICE": "0.1",
            "READBACK_WORKERS": "1",
            **settings,
        }
    )
    migrated.provide(environment)
    key = key or _add_key(Database(environment["READBACK_DATABASE_URL"]))
    ops = f"http://{environment['READBACK_OPS_BIND']}"
    with started(
        ["api"],
        environment,
        folder,
        lambda: is_ready(ops),
        expected_exit_code=-signal.SIGKILL if is_killed else 0,
    ) as process:
        yield Server(
            base_url=f"http://{environment['READBACK_API_BIND']}/v1",
            api_key=key,
            cabinet_url="",
            ops_url=ops,
            account_email=EMAIL,
            data_dir=str(data),
            pid=process.pid,
            environment=environment,
            folder=folder,
        )


def _add_key(database: Database) -> str:
    """Add a key for Alice to a database, and her account if it is missing."""
    key = keys.mint()
    account = database.value("SELECT max(id) FROM cabinet_user WHERE email = ?", EMAIL)
    database.add_keys(account or database.add_account(EMAIL), [key])
    return key


@contextmanager
def started(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    is_ready: Callable[[], bool],
    *,
    cold: bool = False,
    stop: signal.Signals = signal.SIGTERM,
    expected_exit_code: int | None = 0,
) -> Iterator[Process]:
    """Run `readback serve` with its output in the folder, and stop it at the end.

    `is_ready` may raise OSError while the server is not ready. None as the expected
    exit code allows any.
    """

    def has_started() -> bool:
        with suppress(OSError):
            return process.poll() is not None or is_ready()
        return False

    def errors() -> str:
        return (folder / "stderr").read_text(errors="replace")[-4000:]

    process = start_server(
        arguments,
        environment,
        stdout=folder / "stdout",
        stderr=folder / "stderr",
        cold=cold,
    )
    try:
        wait_until(has_started, lambda: f"the server is ready: {errors()}")
        assert process.poll() is None, f"exit code {process.poll()}: {errors()}"
        yield process
    finally:
        process.send_signal(stop)
        try:
            exit_code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()  # its workers end with it
            raise
    assert expected_exit_code in (exit_code, None), f"{exit_code}: {errors()}"
