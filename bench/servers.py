"""Peers as processes: prepare, start and stop a server, and send it one request.

A server runs on the first core with all its processes, in its own session. It is
stopped through its own process group, so no other process is affected.
"""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.database import Database

from bench import messages, proc, traffic
from bench.errors import MeasurementError
from bench.messages import Request
from bench.paths import GO_PROGRAM, PEERS, VENV, WORKSPACE
from bench.peer import Peer
from readback import keys

START_SECONDS = 90.0
STOP_SECONDS = 10.0
# nginx reads its configuration in blocks of 4096 bytes and accepts no longer word.
NGINX_WORD_LENGTH = 1000


@dataclass(frozen=True)
class PeerServer:
    """A running server that has returned its first response."""

    peer: Peer
    port: int
    keys: Sequence[str]
    pid: int
    start_seconds: float

    def request(self, content: str = messages.SHORT) -> Request:
        """Return the request that a client with the first key repeats."""
        [request] = traffic.one_key(self.keys)
        return request.with_content(content)

    @property
    def pids(self) -> list[int]:
        return proc.process_tree(self.pid)


def prepare(peer: Peer) -> list[str]:
    """Create an empty folder for a peer; return the keys that it will accept."""
    folder = _folder(peer)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    output = ""
    for command in peer.prepare:
        words = _fill(command, _values(peer, _free_port(), messages.SHORT))
        environment = _environment(peer, _free_port())
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        if done.returncode:
            failed = " ".join(command[1:])
            raise MeasurementError(f"{failed} failed: {done.stderr.strip()}")
        output = done.stdout
    accepted = [keys.mint() for _ in range(traffic.KEYS)]
    if peer.prints_key:
        accepted[0] = output.splitlines()[-1].strip()
        _add_keys(peer, accepted[1:])
    _key_file(peer).write_text("\n".join(accepted) + "\n")
    return accepted


@contextmanager
def running(
    peer: Peer,
    accepted: Sequence[str],
    content: str = messages.SHORT,
) -> Iterator[PeerServer]:
    """Start a peer, wait for its first response, and stop it on exit."""
    port = _free_port()
    _write_files(peer, port, content)
    command = _fill(peer.start, _values(peer, port, content))
    environment = _environment(peer, port)
    started = time.perf_counter()
    process = _start(peer, command, environment)
    try:
        request = Request(accepted[0], content)
        _wait_for_response(peer, process, port, request)
        start_seconds = time.perf_counter() - started
        yield PeerServer(peer, port, accepted, process.pid, start_seconds)
    finally:
        stop(process, STOP_SECONDS)


def send(port: int, request: Request) -> tuple[int, bytes]:
    """Send one request on a new connection; return the status and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", messages.PATH, request.body, request.headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _start(
    peer: Peer, command: list[str], environment: dict[str, str]
) -> "subprocess.Popen[bytes]":
    log = (_folder(peer) / "log").open("wb")
    with log, proc.on_core(0):
        try:
            return subprocess.Popen(
                command,
                env=environment,
                cwd=_folder(peer),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except OSError as error:
            raise MeasurementError(f"does not start: {error}") from None


def _wait_for_response(
    peer: Peer,
    process: "subprocess.Popen[bytes]",
    port: int,
    request: Request,
) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError, http.client.HTTPException):
            status, _ = send(port, request)
            if status == 200:
                return
        if process.poll() is not None:
            break
        time.sleep(0.005)
    log = (_folder(peer) / "log").read_text(errors="replace").strip().splitlines()
    reason = log[-1] if log else "the log is empty"
    raise MeasurementError(f"no 200 for the first request: {reason}")


def stop(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Stop a process that leads a group of its own; kill what is left of the group."""
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _add_keys(peer: Peer, added: Sequence[str]) -> None:
    """Add keys to the account that the peer's commands have created."""
    database = Database(f"sqlite:///{_folder(peer)}/readback.sqlite3")
    database.add_keys(database.value("SELECT id FROM cabinet_user"), added)


def _key_file(peer: Peer) -> Path:
    return _folder(peer) / "keys"


def _folder(peer: Peer) -> Path:
    return WORKSPACE / "work" / peer.name


def _write_files(peer: Peer, port: int, content: str) -> None:
    values = _values(peer, port, content)
    for name in peer.files:
        text = (PEERS / name).read_text(encoding="utf-8")
        [filled] = _fill([text], values)
        (_folder(peer) / name).write_text(filled, encoding="utf-8")


def _environment(peer: Peer, port: int) -> dict[str, str]:
    values = _values(peer, port, messages.SHORT)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    own = {k: _fill([v], values)[0] for k, v in peer.environment.items()}
    ours = {"BENCH_KEYS": str(_key_file(peer))}
    return inherited | ours | own


def _values(peer: Peer, port: int, content: str) -> dict[str, str]:
    return {
        "port": str(port),
        "spare_port": str(_free_port()),
        "folder": str(_folder(peer)),
        "peers": str(PEERS),
        "bin": str(VENV / "bin"),
        "readback_python": sys.executable,
        "go": str(GO_PROGRAM),
        "constant": _nginx_constant(messages.response_body(content).decode()),
    }


def _fill(words: list[str], values: Mapping[str, str]) -> list[str]:
    for name, value in values.items():
        words = [word.replace(f"@{name}@", value) for word in words]
    return words


def _nginx_constant(body: str) -> str:
    """Return nginx statements that send a constant of any size."""
    starts = range(0, len(body), NGINX_WORD_LENGTH)
    pieces = [body[start : start + NGINX_WORD_LENGTH] for start in starts]
    if len(pieces) == 1:
        return f"return 200 '{body}';"
    # One variable for each piece; nginx joins them when it sends the response.
    lines = [f"set $part_{n} '{piece}';" for n, piece in enumerate(pieces)]
    whole = "".join(f"${{part_{n}}}" for n in range(len(pieces)))
    return "\n".join([*lines, f'return 200 "{whole}";'])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
