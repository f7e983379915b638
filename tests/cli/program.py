"""Run `readback` as a user does: arguments, environment, signals, exit code."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

from readback.config import DATABASE_NAME
from tests.support.commands import Process, environment_with, own_ports, start_server
from tests.support.database import Database
from tests.support.waiting import PATIENCE, wait_until
from tests.support.warm_start import WarmProcess, run_warm

READBACK = [sys.executable, "-m", "readback"]


def local_settings(folder: Path) -> dict[str, str]:
    """Return settings for a server on loopback with its data in the folder."""
    return {
        "READBACK_DATA_DIR": str(folder / "data"),
        **own_ports(),
        "READBACK_WORKERS": "1",
        # No load balancer has to notice that these servers stop.
        "READBACK_STOP_NOTICE": "0.1",
    }


@dataclass
class Program:
    """`readback` with some settings; a server's output goes to files in `folder`."""

    folder: Path
    settings: dict[str, str]

    def with_settings(self, **settings: str) -> "Program":
        """Return the same program with other settings."""
        named = {f"READBACK_{name}": value for name, value in settings.items()}
        return Program(self.folder, {**self.settings, **named})

    @property
    def database(self) -> Database:
        default = f"sqlite:///{self.settings['READBACK_DATA_DIR']}/{DATABASE_NAME}"
        return Database(self.settings.get("READBACK_DATABASE_URL", default))

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command to completion, without a terminal."""
        return run_warm(
            arguments, environment_with(self.settings), stdin, self.folder, PATIENCE
        )

    def output(self, *arguments: str, stdin: str = "") -> str:
        """Run a command that must succeed; return its standard output."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *arguments: str, stdout: Path) -> WarmProcess:
        """Start a command; its errors go to the file `errors`."""
        return WarmProcess(
            arguments,
            environment_with(self.settings),
            stdout=stdout,
            stderr=self.folder / "errors",
            folder=self.folder,
        )

    def is_listening(self) -> bool:
        """Return whether a process listens on any of the addresses."""
        names = ("READBACK_API_BIND", "READBACK_CABINET_BIND", "READBACK_OPS_BIND")
        return any(is_listening(self.settings[name]) for name in names)

    @contextmanager
    def serving(
        self, *arguments: str, until: str = " key create ", cold: bool = False
    ) -> Iterator["Service"]:
        """Run `readback serve …`; yield once it prints the text; stop it at the end."""
        out = self.folder / f"out-{time.monotonic_ns()}"
        err = out.with_suffix(".err")
        process = start_server(
            arguments,
            environment_with(self.settings),
            stdout=out,
            stderr=err,
            folder=self.folder,
            cold=cold,
        )
        service = Service(process, out, err)
        try:
            service.wait_for(until)
            yield service
        finally:
            service.end()


@dataclass
class Service:
    """A running `readback serve`."""

    process: Process
    out: Path
    err: Path

    @property
    def stdout(self) -> str:
        return self.out.read_text()

    @property
    def stderr(self) -> str:
        return self.err.read_text()

    def wait_for(self, text: str) -> None:
        """Wait until the server has printed the text, on either stream."""

        def done() -> bool:
            assert self.process.poll() is None, f"the server exited: {self.stderr}"
            return text in self.stdout + self.stderr

        wait_until(done, lambda: f"{text!r} in {self.stdout}{self.stderr}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def children(self) -> list[int]:
        """Return the process ids of the workers, the cabinet's first."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(number) for number in listed.read_text().split()]

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(PATIENCE)
            raise


def run_cold(
    command: Sequence[str], settings: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run any program to completion, with these Readback settings."""
    return subprocess.run(
        command,
        env=environment_with(settings),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def is_listening(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except OSError:
        return False
    return True


def unfinished_request(program: Program) -> socket.socket:
    """Send a request without the end of its headers."""
    host, _, port = program.settings["READBACK_API_BIND"].rpartition(":")
    client = socket.create_connection((host, int(port)), timeout=PATIENCE)
    client.sendall(b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n")
    return client


def answers_200(url: str, key: str = "") -> bool:
    request = Request(url, headers={"Authorization": f"Bearer {key}"})
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            return answer.status == 200
    except OSError:  # connection refused, or any other status
        return False


def key_in(text: str) -> str:
    """Return the only key in a string."""
    [key] = set(re.findall(r"sk-echo-[0-9A-Za-z]{38}", text))
    return key
