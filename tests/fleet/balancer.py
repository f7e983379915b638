"""HAProxy on a machine in the fleet, with the configuration that we ship."""

import csv
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fleet.network import NETWORKS, Network
from tests.support.authority import Authority
from tests.support.programs import needed_program
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

SHIPPED = Path(__file__).parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
MACHINE = "balancer"
NUMBER = 1
_HOST = f"{NETWORKS['front']}.{NUMBER}"
API = Endpoint(_HOST, 8080)
CABINET = Endpoint(_HOST, 8081)
TLS = Endpoint(_HOST, 8443, tls=True)


@dataclass(frozen=True)
class Balancer:
    """A running HAProxy."""

    folder: Path
    root: Path
    """The certificate that clients must trust."""

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def servers(self, backend: str) -> dict[str, str]:
        """Return the state of each server in a backend: UP, DOWN, NOLB and so on."""
        return {
            row["svname"]: row["status"]
            for row in self._statistics()
            if row["pxname"] == backend and row["svname"] != "BACKEND"
        }

    def retries(self) -> int:
        """Return how often HAProxy has retried a request, on any server."""
        return sum(
            int(row["wretr"]) + int(row["wredis"])
            for row in self._statistics()
            if row["svname"] == "BACKEND"
        )

    def _statistics(self) -> list[dict[str, str]]:
        """Return the table of proxies and servers, from HAProxy's control socket."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(str(self.folder / "control"))
            connection.sendall(b"show stat\n")
            text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        return list(csv.DictReader(text.removeprefix("# ").splitlines()))


@contextmanager
def haproxy(
    command: list[str], log: Path, variables: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command that starts HAProxy; kill it at the end without waiting."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


@contextmanager
def balancer(network: Network, folder: Path) -> Iterator[Balancer]:
    network.add_machine(MACHINE, NUMBER)
    authority = Authority(folder / "authority")
    control = folder / "control.cfg"
    control.write_text(f"global\n    stats socket {folder}/control\n")
    files = ("-f", str(SHIPPED), "-f", str(control))
    variables = {
        "CERTIFICATE": str(authority.issue(_HOST)),
        # The configuration contains the addresses of the replicas; those of the
        # cabinets are variables.
        "CABINET_ONE": f"{NETWORKS['front']}.21",
        "CABINET_TWO": f"{NETWORKS['front']}.22",
    }
    command = network.command(MACHINE, needed_program("haproxy"), "-db", *files)
    started = Balancer(folder, authority.root)
    with haproxy(command, folder / "log", variables) as process:
        wait_until(
            lambda: (folder / "control").exists() or process.poll() is not None,
            lambda: f"HAProxy runs: {started.log}",
        )
        assert process.poll() is None, started.log
        yield started
