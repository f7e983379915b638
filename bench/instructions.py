"""Instructions per request in user mode, counted with valgrind.

They depend on the processor's architecture, the compiler and the versions, but neither
on the speed of the machine nor on other programs. One run is enough: a second one
differed by less than 1 %, for Readback by up to 4 %. The kernel's work is not included.
"""

import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench import install, messages, proc, servers
from bench.errors import MeasurementError
from bench.messages import Request
from bench.peer import Peer
from bench.progress import ProgressBar
from bench.results import ResultsFile
from bench.scenarios import PIPELINED_REQUESTS
from bench.servers import PeerServer

REPEATED = "50 bytes, the same connection"
RECONNECT = "50 bytes, a new connection each"
PIPELINED = f"50 bytes, {PIPELINED_REQUESTS} requests at once"
ASCII = "8192 bytes of ASCII"
CYRILLIC = "8192 bytes of Cyrillic"
NO_VALGRIND = "valgrind is not installed"
VGDB_SECONDS = 30
# A load that takes three seconds.
SLOW_REQUESTS = 2 * PIPELINED_REQUESTS
SLOW_PAUSE = 3 / SLOW_REQUESTS


def repeated(server: PeerServer, request: Request, count: int, pause: float) -> None:
    """Send requests on one connection, each after the previous response."""
    sent = request.to_bytes(server.port)
    with _Client(server.port) as client:
        for _ in range(count):
            client.exchange(sent, 1)
            time.sleep(pause)


def reconnect(server: PeerServer, request: Request, count: int, pause: float) -> None:
    """Send each request on a connection of its own."""
    sent = request.closing().to_bytes(server.port)
    for _ in range(count):
        with _Client(server.port) as client:
            client.exchange(sent, 1)
        time.sleep(pause)


def pipelined(server: PeerServer, request: Request, count: int, pause: float) -> None:
    """Send several requests at once on one connection, then read all responses."""
    sent = request.to_bytes(server.port) * PIPELINED_REQUESTS
    with _Client(server.port) as client:
        for _ in range(count // PIPELINED_REQUESTS):
            client.exchange(sent, PIPELINED_REQUESTS)
            time.sleep(pause * PIPELINED_REQUESTS)


@dataclass(frozen=True)
class Case:
    """A kind of load, and the servers for which it is counted."""

    send: Callable[[PeerServer, Request, int, float], None]
    content: str = messages.SHORT
    only: tuple[str, ...] = ("nginx", "uvloop", "readback")


CASES = {
    REPEATED: Case(repeated, only=()),
    RECONNECT: Case(reconnect),
    PIPELINED: Case(pipelined),
    ASCII: Case(repeated, messages.LONG_ASCII, only=("readback",)),
    CYRILLIC: Case(repeated, messages.LONG_CYRILLIC, only=("readback",)),
}


def cases_of(peer: Peer) -> dict[str, Case]:
    return {
        name: case
        for name, case in CASES.items()
        if not case.only or peer.name in case.only
    }


def measure(
    peers: list[Peer], requests: int, published: bool, progress: ProgressBar
) -> None:
    """Count every case of the peers; write `instructions.json` after each peer."""
    if not shutil.which("valgrind"):
        progress.print(f"Instructions are not counted: {NO_VALGRIND}.")
        return
    file = ResultsFile("instructions", {"requests": requests}, published)
    rows: dict[str, Any] = file.data.setdefault("peers", {})
    progress.add_steps(len(peers))
    for peer in peers:
        progress.describe(f"counting the instructions of {peer.title}")
        row = rows[peer.name] = {"title": peer.title, "family": peer.family}
        try:
            row |= _count_cases(peer, requests)
        except (MeasurementError, OSError) as error:
            row["not_counted"] = str(error)
        file.write()
        progress.finish_step(f"instructions  {peer.title:<30} {_line(row)}")


def _count_cases(peer: Peer, requests: int) -> dict[str, Any]:
    if peer.not_counted:
        raise MeasurementError(peer.not_counted)
    install.install(peer)
    keys = servers.prepare(peer)
    return {
        "cases": {
            name: _count(peer, keys, case, requests)
            for name, case in cases_of(peer).items()
        }
    }


def _count(peer: Peer, keys: list[str], case: Case, requests: int) -> int:
    """Return the instructions per request of the process that answers them.

    A server also works on its own: Readback looks for changes twice a second. That work
    depends on time, and a request takes far longer under valgrind, so a few requests
    are sent slowly as well, and what time alone costs is subtracted.
    """
    settings = {"BENCH_PIPELINED": "1"} if case.send is pipelined else {}
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.running(
            peer, keys, case.content, settings, wrapper=_valgrind(folder)
        ) as server,
    ):
        request = server.request(case.content)
        before = {pid: proc.cpu_seconds(pid) for pid in server.pids}
        # Python specialises its bytecode while it runs.
        case.send(server, request, requests, 0)
        worker = max(before, key=lambda pid: proc.cpu_seconds(pid) - before[pid])
        _command(worker, "instrumentation", "on")
        loads: list[_Load] = []
        for count, pause in ((requests, 0.0), (SLOW_REQUESTS, SLOW_PAUSE)):
            begun = time.monotonic()
            case.send(server, request, count, pause)
            seconds = time.monotonic() - begun
            _command(worker, "dump")
            dump = Path(folder) / f"out.{worker}.{len(loads) + 1}"
            loads.append(_Load(_dumped_total(dump), count, seconds))
        return round(per_request(*loads))


class _Load(NamedTuple):
    instructions: int
    requests: int
    seconds: float


def per_request(fast: _Load, slow: _Load) -> float:
    """Return what a request costs if a second costs the same in both loads."""
    alone = fast.instructions * slow.seconds - slow.instructions * fast.seconds
    requests = fast.requests * slow.seconds - slow.requests * fast.seconds
    if requests <= 0:
        raise MeasurementError("under valgrind it answers too slowly to be counted")
    return alone / requests


def _valgrind(folder: str) -> list[str]:
    return [
        "valgrind",
        "--tool=callgrind",
        "--trace-children=yes",
        # A server starts much faster without.
        "--instr-atstart=no",
        f"--callgrind-out-file={folder}/out.%p",
        f"--log-file={folder}/log.%p",
    ]


def _command(pid: int, *words: str) -> None:
    """Send a command to callgrind in a process."""
    command = ["vgdb", f"--pid={pid}", *words]
    try:
        done = subprocess.run(command, capture_output=True, timeout=VGDB_SECONDS)
    except subprocess.TimeoutExpired:
        raise MeasurementError("valgrind did not react") from None
    if done.returncode:
        raise MeasurementError(f"vgdb failed: {done.stderr.decode().strip()}")


def _dumped_total(path: Path) -> int:
    found = re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE)
    if not found:
        raise MeasurementError("valgrind counted nothing")
    return int(found[1])


class _Client:
    """A connection that reads whole responses."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""

    def __enter__(self) -> "_Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def exchange(self, sent: bytes, responses: int) -> None:
        self._socket.sendall(sent)
        for _ in range(responses):
            self._read_response()

    def _read_response(self) -> None:
        while b"\r\n\r\n" not in self._received:
            self._receive()
        head = self._received.partition(b"\r\n\r\n")[0]
        if not head.startswith(b"HTTP/1.1 200"):
            raise MeasurementError("a request was refused")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        end = len(head) + 4 + length
        while len(self._received) < end:
            self._receive()
        self._received = self._received[end:]

    def _receive(self) -> None:
        data = self._socket.recv(65536)
        if not data:
            raise MeasurementError("the server closed the connection")
        self._received += data


def _line(row: dict[str, Any]) -> str:
    if "not_counted" in row:
        return f"not counted: {row['not_counted']}"
    return ", ".join(f"{count:,} ({name})" for name, count in row["cases"].items())
