"""A small fleet on loopback addresses: PostgreSQL, replicas of the API, and HAProxy.

Replicas run on the first core; PostgreSQL, HAProxy and the load generators on the last.
HAProxy uses the configuration that we ship, with other addresses and ports. Nothing
here knows what is measured.
"""

import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO

from tests.support.commands import environment_with, free_port
from tests.support.haproxy import statistics
from tests.support.server import UNLIMITED
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

from bench import proc, servers
from bench.errors import MeasurementError
from bench.paths import ROOT

SHIPPED = ROOT / "deploy" / "haproxy" / "haproxy.cfg"
FRONT = "127.0.0.1"
# The names of the replicas in the shipped file, and its addresses, moved to loopback.
# They differ, so all replicas can have the same ports, which the file requires.
ADDRESSES = {"one": "127.0.0.11", "two": "127.0.0.12", "three": "127.0.0.13"}
START_SECONDS = 60.0
STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Ports:
    """The ports of one fleet: of all replicas, and of HAProxy."""

    api: int
    ops: int
    http: int
    tls: int

    @classmethod
    def free(cls) -> "Ports":
        return cls(*(free_port() for _ in fields(cls)))


@dataclass(frozen=True)
class Replica:
    """A running replica."""

    endpoint: Endpoint
    ops_url: str
    pid: int


@dataclass(frozen=True)
class Balancer:
    """A running HAProxy."""

    http: Endpoint
    tls: Endpoint
    pid: int
    folder: Path

    def requests_by_server(self) -> dict[str, int]:
        """Return how many requests each replica has answered."""
        return {
            row["svname"]: int(row["hrsp_2xx"])
            for row in statistics(self.folder / "control")
            if row["pxname"] == "replicas" and row["svname"] in ADDRESSES
        }

    def log_bytes(self) -> int:
        return (self.folder / "balancer.log").stat().st_size

    def is_ready(self, replicas: int) -> bool:
        up = [
            row["pxname"]
            for row in statistics(self.folder / "control")
            if row["svname"] in ADDRESSES and row["status"] == "UP"
        ]
        return all(up.count(name) == replicas for name in ("replicas", "with_database"))


def hash_points() -> int:
    """Return the number of points of a replica on the circle of the consistent hash.

    HAProxy has 16 for each unit of the weight, which is 1 if the file says nothing.
    """
    weight = re.search(r"^ *(?:default-)?server\b.* weight (\d+)", _shipped(), re.M)
    return 16 * (int(weight[1]) if weight else 1)


@contextmanager
def replicas(
    number: int,
    chosen: Mapping[str, str],
    folder: Path,
    ports: Ports,
    certificate: Path | None = None,
) -> Iterator[list[Replica]]:
    """Run replicas of the API alone, each with these settings."""
    with ExitStack() as stack:
        started = []
        for name, address in list(ADDRESSES.items())[:number]:
            settings = {
                **UNLIMITED,
                "READBACK_DATA_DIR": str(folder / name),
                "READBACK_SECRET_KEY": "the same on every replica " * 2,
                "READBACK_TRUSTED_PROXY_COUNT": "1",
                "READBACK_STOP_NOTICE": "0.1",
                **chosen,
                "READBACK_API_BIND": f"{address}:{ports.api}",
                "READBACK_OPS_BIND": f"{address}:{ports.ops}",
            }
            if certificate:
                settings["READBACK_TLS_CERTIFICATE"] = str(certificate)
                settings["READBACK_TLS_KEY"] = str(certificate)
            command = [sys.executable, "-m", "readback", "serve", "api"]
            log = stack.enter_context((folder / f"{name}.log").open("w+"))
            process = stack.enter_context(
                _process(command, log, environment_with(settings), core=0)
            )
            ops_url = f"http://{address}:{ports.ops}"
            endpoint = Endpoint(address, ports.api, tls=bool(certificate))
            started.append(Replica(endpoint, ops_url, process.pid))
            _wait_for_replica(process, log, ops_url)
        yield started


@contextmanager
def balancer(
    replicas: int, folder: Path, ports: Ports, certificate: Path
) -> Iterator[Balancer]:
    """Run HAProxy in front of that many replicas, which run already.

    To HAProxy, the other replicas of the shipped file are down.
    """
    program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if not program:
        raise MeasurementError("haproxy is not installed; install it first")
    settings, control = folder / "haproxy.cfg", folder / "control.cfg"
    settings.write_text(configuration(_shipped(), ports))
    control.write_text(f'global\n    stats socket "{folder}/control"\n')
    command = [program, "-db", "-f", str(settings), "-f", str(control)]
    environment = {**os.environ, "CERTIFICATE": str(certificate)}
    with (
        (folder / "balancer.log").open("w+") as log,
        _process(command, log, environment, core=-1) as process,
    ):
        started = Balancer(
            Endpoint(FRONT, ports.http),
            Endpoint(FRONT, ports.tls, tls=True),
            process.pid,
            folder,
        )
        _wait(
            lambda: (folder / "control").exists() and started.is_ready(replicas),
            process,
            log,
        )
        yield started


def configuration(shipped: str, ports: Ports) -> str:
    """Return the shipped file with its listeners and replicas moved to loopback."""
    text = shipped.replace("10.0.0.", "127.0.0.").replace(":8000", f":{ports.api}")
    text = text.replace("port 8002", f"port {ports.ops}")
    # Others are for the cabinet and for metrics, which are not used here.
    here = {"8080": ports.http, "8443": ports.tls}
    text = re.sub(
        r"^( *bind) :(\d+)",
        lambda found: f"{found[1]} {FRONT}:{here.get(found[2]) or free_port()}",
        text,
        flags=re.M,
    )
    bound = set(re.findall(r"^ *bind (\S+)", text, re.M))
    wanted = {f"{FRONT}:{ports.http}", f"{FRONT}:{ports.tls}"}
    if not wanted <= bound or any(not each.startswith(FRONT) for each in bound):
        raise MeasurementError(f"{SHIPPED.name} has listeners that are not expected")
    return text


def _shipped() -> str:
    return SHIPPED.read_text(encoding="utf-8")


@contextmanager
def _process(
    command: list[str], log: IO[str], environment: dict[str, str], core: int
) -> "Iterator[subprocess.Popen[bytes]]":
    with proc.on_core(core):
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        servers.stop(process, STOP_SECONDS)


def _wait_for_replica(
    process: "subprocess.Popen[bytes]", log: IO[str], ops_url: str
) -> None:
    def is_ready() -> bool:
        try:
            urllib.request.urlopen(f"{ops_url}/readyz", timeout=5).close()
        except OSError:
            return False
        return True

    _wait(is_ready, process, log)


def _wait(
    condition: Callable[[], bool], process: "subprocess.Popen[bytes]", log: IO[str]
) -> None:
    with suppress(AssertionError):
        wait_until(
            lambda: process.poll() is not None or condition(), "it runs", START_SECONDS
        )
        if process.poll() is None:
            return
    log.seek(0)
    lines = log.read().strip().splitlines() or ["its log is empty"]
    raise MeasurementError(f"a part of the fleet did not start: {lines[-1]}")
