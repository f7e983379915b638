"""`readback serve` and `readback serve api`, with a key of Alice."""

import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from readback import keys
from tests.support import migrated
from tests.support.commands import (
    environment_with,
    free_port,
    start_server,
)
from tests.support.database import Database
from tests.support.metrics import is_ready
from tests.support.server import Server
from tests.support.waiting import PATIENCE, wait_until

EMAIL = "alice@example.org"


@dataclass(frozen=True)
class Running:
    """A running server."""

    settings: Mapping[str, str]
    environment: Mapping[str, str]

    @cached_property
    def key(self) -> str:
        """A key of Alice, who has no account before somebody asks for this."""
        path = Path(self.environment["READBACK_DATA_DIR"], "readback.sqlite3")
        return _add_key(
            self.environment.get("READBACK_DATABASE_URL", f"sqlite:///{path}")
        )

    @property
    def api_address(self) -> tuple[str, int]:
        host, port = self.settings["READBACK_API_BIND"].rsplit(":", 1)
        return host, int(port)


@contextmanager
def running(
    folder: Path, settings: Mapping[str, str], *, first_start: bool = False
) -> Iterator[Running]:
    """Serve both planes; at the end expect exit code 0.

    The database is migrated already, unless the test is about the first start.
    """
    environment = environment_with(
        {
            "READBACK_DATA_DIR": str(folder / "data"),
            "READBACK_WORKERS": "1",
            "READBACK_CABINET_BIND": f"127.0.0.1:{free_port()}",
            "READBACK_OPS_BIND": f"127.0.0.1:{free_port()}",
            **settings,
        }
    )
    if not first_start:
        migrated.provide(environment)
    out = folder / "output"
    process = start_server([], environment, stdout=out, stderr=out)
    try:
        wait_until(
            lambda: "is running" in out.read_text() or process.poll() is not None,
            "the server is ready",
        )
        assert process.poll() is None, out.read_text()
        yield Running(settings, environment)
    finally:
        process.send_signal(signal.SIGTERM)
        exit_code = process.wait(PATIENCE)
    assert exit_code == 0, out.read_text()
    assert not re.search("Traceback|internal error", out.read_text()), out.read_text()


@contextmanager
def api_server(
    folder: Path, settings: Mapping[str, str], *, is_killed: bool = False
) -> Iterator[Server]:
    """Serve the API alone; at the end stop it and expect exit code 0.

    For tests of its workers. It takes half of the CPU time of a whole service.
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
    key = _add_key(environment["READBACK_DATABASE_URL"])
    ops = f"http://{environment['READBACK_OPS_BIND']}"
    err = folder / "stderr"
    process = start_server(["api"], environment, stdout=folder / "stdout", stderr=err)

    def has_started() -> bool:
        try:
            return is_ready(ops)
        except OSError:
            return process.poll() is not None

    try:
        wait_until(has_started, lambda: f"the API is ready: {err.read_text()}")
        assert process.poll() is None, err.read_text()
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
    finally:
        process.send_signal(signal.SIGTERM)
        exit_code = process.wait(PATIENCE)
    expected = -signal.SIGKILL if is_killed else 0
    assert exit_code == expected, err.read_text()


def _add_key(url: str) -> str:
    """Add a key of Alice to a database, and her account if there is none."""
    database, key = Database(url), keys.mint()
    account = database.value("SELECT max(id) FROM cabinet_user WHERE email = ?", EMAIL)
    database.add_keys(account or database.add_account(EMAIL), [key])
    return key
