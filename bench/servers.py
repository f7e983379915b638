"""Peers as running processes: prepared, started, asked for the first time, stopped.

A server runs on the first core with all its processes, in a session of its own, and
is stopped by its own process group: nothing else on the machine is touched.
"""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from bench import messages, proc
from bench.messages import Request
from bench.roster import GO_PROGRAM, HOME, NPM, PEERS, VENV, Absent, Peer
from readback import keys

START_SECONDS = 90.0
STOP_SECONDS = 10.0
# nginx reads its configuration in pieces of 4096 bytes, and no word may be longer.
NGINX_PIECE = 1000


@dataclass(frozen=True)
class Server:
    """A server that has given its first answer."""

    peer: Peer
    port: int
    key: str
    pid: int
    start_seconds: float

    def request(self, content: str = messages.SHORT) -> Request:
        return Request(self.key, content)

    @property
    def pids(self) -> list[int]:
        return proc.tree(self.pid)


def prepare(peer: Peer) -> str:
    """Make a peer's folder anew; give the key that it will accept."""
    work = _work(peer)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    key, said = keys.mint(), ""
    for command in peer.prepare:
        words = _fill(command, _values(peer, key, _free_port(), messages.SHORT))
        environment = _environment(peer, key, _free_port(), {})
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise Absent(f"{' '.join(command[1:])} failed: {done.stderr.strip()}")
        said = done.stdout
    return said.splitlines()[-1].strip() if peer.key_made else key


@contextmanager
def running(
    peer: Peer,
    key: str,
    content: str = messages.SHORT,
    settings: Mapping[str, str] | None = None,
    core: int | None = 0,
) -> Iterator[Server]:
    """Run a peer from its first to its last answer; None as core means all cores."""
    port = _free_port()
    _write_files(peer, key, port, content)
    command = _fill(peer.start, _values(peer, key, port, content))
    environment = _environment(peer, key, port, settings or {})
    began = time.perf_counter()
    process = _start(peer, command, environment, core)
    try:
        _await_answer(peer, process, port, Request(key, content))
        waited = time.perf_counter() - began
        yield Server(peer, port, key, process.pid, waited)
    finally:
        _stop(process)


def ask(port: int, request: Request) -> tuple[int, bytes]:
    """Send one request on a connection of its own; give status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(request.method, request.path, request.body, request.headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _start(
    peer: Peer, command: list[str], environment: dict[str, str], core: int | None
) -> "subprocess.Popen[bytes]":
    log = (_work(peer) / "log").open("wb")
    with log, proc.on_core(core) if core is not None else nullcontext():
        try:
            return subprocess.Popen(
                command,
                env=environment,
                cwd=_work(peer),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except OSError as error:
            raise Absent(f"it does not start: {error}") from None


def _await_answer(
    peer: Peer, process: "subprocess.Popen[bytes]", port: int, request: Request
) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError, http.client.HTTPException):
            status, _ = ask(port, request)
            if status == 200:
                return
        if process.poll() is not None:
            break
        time.sleep(0.005)
    said = (_work(peer) / "log").read_text(errors="replace").strip().splitlines()
    reason = said[-1] if said else "it said nothing"
    raise Absent(f"no answer to the first request: {reason}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    # The group has no one but the server and its workers in it.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _work(peer: Peer) -> Path:
    return HOME / "work" / peer.name


def _write_files(peer: Peer, key: str, port: int, content: str) -> None:
    (_work(peer) / "answer.json").write_bytes(messages.answer(content))
    values = _values(peer, key, port, content)
    for name in peer.files:
        text = (PEERS / name).read_text(encoding="utf-8")
        [filled] = _fill([text], values)
        (_work(peer) / name).write_text(filled, encoding="utf-8")


def _environment(
    peer: Peer, key: str, port: int, settings: Mapping[str, str]
) -> dict[str, str]:
    values = _values(peer, key, port, messages.SHORT)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    own = {k: _fill([v], values)[0] for k, v in peer.environment.items()}
    return inherited | {"BENCH_KEY": key} | own | dict(settings)


def _values(peer: Peer, key: str, port: int, content: str) -> dict[str, str]:
    answer = messages.answer(content).decode()
    return {
        "port": str(port),
        "spare_port": str(_free_port()),
        "key": key,
        "work": str(_work(peer)),
        "peers": str(PEERS),
        "python": str(VENV / "bin" / "python"),
        "bin": str(VENV / "bin"),
        "here": sys.executable,
        "npm": str(NPM / "node_modules"),
        "go": str(GO_PROGRAM),
        "text": content,
        "answer": answer,
        "constant": _nginx_constant(answer),
    }


def _fill(words: list[str], values: Mapping[str, str]) -> list[str]:
    for name, value in values.items():
        words = [word.replace(f"@{name}@", value) for word in words]
    return words


def _nginx_constant(answer: str) -> str:
    """Write a constant of any size as statements of nginx."""
    pieces = [
        answer[at : at + NGINX_PIECE] for at in range(0, len(answer), NGINX_PIECE)
    ]
    if len(pieces) == 1:
        return f"return 200 '{answer}';"
    # One word each; they are put together when they are sent.
    lines = [f"set $part_{n} '{piece}';" for n, piece in enumerate(pieces)]
    whole = "".join(f"${{part_{n}}}" for n in range(len(pieces)))
    return "\n".join([*lines, f'return 200 "{whole}";'])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
