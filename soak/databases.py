"""The two kinds of database, and how each becomes unavailable and comes back.

PostgreSQL is frozen, like a machine that hangs, or killed and started again. SQLite is
locked by another program, so that nothing can be written.
"""

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bench.errors import MeasurementError
from bench.single_worker import POSTGRESQL, SQLITE, start_postgres

if TYPE_CHECKING:
    from tests.support.postgres import Postgres

FROZEN = "frozen"
KILLED = "killed"
LOCKED = "locked"


class FaultyDatabase(Protocol):
    """A database that can be made unavailable."""

    url: str
    kinds: tuple[str, str]
    """Two kinds of outage."""

    def go(self, kind: str) -> None: ...

    def come_back(self) -> None:
        """End an outage; do nothing if there is none."""

    def contents(self) -> bytes:
        """Return everything that it has stored and logged, to search it for secrets."""


@contextmanager
def database(name: str, folder: Path) -> Iterator[FaultyDatabase]:
    """Provide an empty database."""
    if name == SQLITE:
        yield _Sqlite(folder / "readback.sqlite3")
        return
    assert name == POSTGRESQL
    with start_postgres() as server:
        yield _Postgresql(server)


class _Postgresql:
    kinds = (KILLED, FROZEN)

    def __init__(self, server: "Postgres") -> None:
        self._server = server
        self._gone = ""
        # Only processes are killed, so what they have written stays in the files.
        # With fsync, a start after a kill first syncs every file, which takes seconds.
        server.execute("ALTER SYSTEM SET fsync = off")
        server.execute("SELECT pg_reload_conf()")
        self.url: str = server.new_database()

    def go(self, kind: str) -> None:
        self._gone = kind
        if kind == FROZEN:
            self._server.freeze()
        else:
            self._server.kill()

    def come_back(self) -> None:
        if self._gone == FROZEN:
            self._server.thaw()
        elif self._gone:
            self._start_again()
        # Last, so that a second call works if Ctrl-C interrupts this one.
        self._gone = ""

    def _start_again(self) -> None:
        for _ in range(3):
            # On a busy machine pg_ctl gives up before the server has started.
            with suppress(subprocess.SubprocessError):
                self._server.start_again()
                return
        raise MeasurementError("PostgreSQL did not start again")

    def contents(self) -> bytes:
        dump = [str(self._server.programs / "pg_dump"), "--inserts", self.url]
        rows = subprocess.run(dump, check=True, capture_output=True).stdout
        logs = Path(self._server.socket).parent.glob("*log*")
        return rows + b"".join(log.read_bytes() for log in logs if log.is_file())


class _Sqlite:
    kinds = (LOCKED, LOCKED)

    def __init__(self, path: Path) -> None:
        self._path = path
        self._holder: sqlite3.Connection | None = None
        self.url = f"sqlite:///{path}"

    def go(self, kind: str) -> None:
        self._holder = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        self._holder.execute("BEGIN IMMEDIATE")

    def come_back(self) -> None:
        if self._holder is not None:
            self._holder.close()
            self._holder = None

    def contents(self) -> bytes:
        files = self._path.parent.glob(f"{self._path.name}*")
        return b"".join(file.read_bytes() for file in files)
