"""Instructions per request in user mode, counted with valgrind.

They depend on the processor's architecture, the compiler and the versions, but neither
on the speed of the machine nor on other programs. The kernel's work is not included.

Readback is counted in process (`in_process.py`), and the other servers while a client
sends requests to them. A whole Readback also works by the clock: it looks for changes
and writes rows twice a second. How much of that falls into a count depends on how busy
the machine is, because requests take so long under valgrind. When that part was
estimated and subtracted, the same code had 12,694 instructions once, and then 18,940.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bench import in_process, install, proc, servers, traffic
from bench.errors import MeasurementError
from bench.messages import Request
from bench.paths import ROOT
from bench.peer import Peer
from bench.progress import ProgressBar
from bench.results import ResultsFile
from bench.servers import PeerServer

REPEATED = "50 bytes, the same connection"
MANY_CLIENTS = f"50 bytes, {traffic.MANY_CLIENTS}"
ANY_TEXT = traffic.ANY_TEXT
ANY_ADDRESS = traffic.ANY_ADDRESS
REQUEST_IDS = traffic.REQUEST_IDS
RECONNECT = "50 bytes, a new connection each"
ASCII = "8192 bytes of ASCII"
CYRILLIC = "8192 bytes of Cyrillic"
NO_VALGRIND = "valgrind is not installed"
VGDB_SECONDS = 60
# In process. The warm-up uses every key.
WARM_UP_REQUESTS = 4 * traffic.KEYS
FEW_REQUESTS = 160
# Every key is used equally often.
IN_PROCESS_REQUESTS = 2 * traffic.KEYS


def repeated(server: PeerServer, request: Request, count: int) -> None:
    """Send requests on one connection, each after the previous response."""
    sent = request.to_bytes(server.port)
    with _Client(server.port) as client:
        for _ in range(count):
            client.exchange(sent)


def reconnect(server: PeerServer, request: Request, count: int) -> None:
    """Send each request on a connection of its own."""
    sent = request.closing().to_bytes(server.port)
    for _ in range(count):
        with _Client(server.port) as client:
            client.exchange(sent)


CASES: dict[str, Callable[[PeerServer, Request, int], None]] = {
    REPEATED: repeated,
    RECONNECT: reconnect,
}
"""What is sent to a server. All are counted with the first, a few with each."""
WITH_ALL_CASES = ("nginx", "uvloop")
IN_PROCESS = {
    REPEATED: in_process.repeated,
    MANY_CLIENTS: in_process.many_clients,
    ANY_TEXT: in_process.any_text,
    ANY_ADDRESS: in_process.any_address,
    REQUEST_IDS: in_process.request_ids,
    RECONNECT: in_process.new_connections,
    ASCII: in_process.ascii_texts,
    CYRILLIC: in_process.cyrillic_texts,
}
"""What is counted of Readback."""


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
    if peer.name == "readback":
        return {"in_process": True, "cases": count_in_process()}
    install.install(peer)
    keys = servers.prepare(peer)
    names = CASES if peer.name in WITH_ALL_CASES else (REPEATED,)
    return {"cases": {name: count(peer, keys, name, requests) for name in names}}


def of_whole_server(row: Mapping[str, Any], rows: Mapping[str, Any]) -> float:
    """Return the count of a repeated request with the event loop and the socket.

    The constant on uvloop is what Readback's process does outside of Readback.
    """
    found: float = row["cases"][REPEATED]
    if row.get("in_process"):
        found += rows["uvloop"]["cases"][REPEATED]
    return found


def count_in_process(
    requests: int = IN_PROCESS_REQUESTS,
    kinds: Iterable[str] = IN_PROCESS,
    python: str = sys.executable,
) -> dict[str, int]:
    """Return the instructions of Readback per request, without those for sending."""
    driver = _count_kind(in_process.driver, requests, python)
    return {
        name: round(_count_kind(IN_PROCESS[name], requests, python) - driver)
        for name in kinds
    }


def _count_kind(
    kind: Callable[..., in_process.Send], requests: int, python: str
) -> float:
    command = [python, "-m", "bench.in_process", kind.__name__]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [*_valgrind(folder), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # The order of a set is the same each time.
            env=os.environ | {"PYTHONHASHSEED": "0"},
            cwd=ROOT,
            text=True,
        ) as process,
    ):
        try:
            return _Counted(process, Path(folder)).per_request(requests)
        finally:
            process.kill()


class _Counted:
    """A process of `in_process.py` under valgrind."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._dumps = 0
        self._expect("ready")

    def per_request(self, requests: int) -> float:
        # Python specialises its bytecode while it runs, and caches fill.
        self._send(WARM_UP_REQUESTS)
        _command(self._process.pid, "instrumentation", "on")
        self._count(FEW_REQUESTS)  # what follows the switch is translated again
        few = self._count(FEW_REQUESTS)
        # Both include reading the command and writing the dump.
        return (self._count(FEW_REQUESTS + requests) - few) / requests

    def _count(self, requests: int) -> int:
        self._send(requests)
        _command(self._process.pid, "dump")
        self._dumps += 1
        return _dumped_total(self._folder / f"out.{self._process.pid}.{self._dumps}")

    def _send(self, requests: int) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{requests}\n")
        self._process.stdin.flush()
        self._expect("done")

    def _expect(self, line: str) -> None:
        assert self._process.stdout
        if self._process.stdout.readline().strip() != line:
            raise MeasurementError("Readback failed in process; see above")


def count(peer: Peer, keys: list[str], case: str, requests: int) -> int:
    """Return the instructions per request of the process that answers them."""
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.running(peer, keys, wrapper=_valgrind(folder)) as server,
    ):
        request = server.request()
        send = CASES[case]
        before = {pid: proc.cpu_seconds(pid) for pid in server.pids}
        send(server, request, requests)
        worker = max(before, key=lambda pid: proc.cpu_seconds(pid) - before[pid])
        _command(worker, "instrumentation", "on")
        send(server, request, requests)
        _command(worker, "dump")
        return round(_dumped_total(Path(folder) / f"out.{worker}.1") / requests)


def _valgrind(folder: str) -> list[str]:
    return [
        "valgrind",
        "--tool=callgrind",
        "--trace-children=yes",
        # A server starts much faster without it.
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

    def exchange(self, sent: bytes) -> None:
        """Send a request, and read its response."""
        self._socket.sendall(sent)
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
