"""Run the product's commands as an operator does: as processes, with an environment.

Most of them start warm, without importing libraries; see `warm_start.py`. The others
are started by another program, or their start itself is tested or measured.
"""

import fcntl
import os
import random
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.support.made_once import shared_folder
from tests.support.warm_start import WarmProcess, run_warm

Process = WarmProcess | subprocess.Popen[bytes]

COMMAND_SECONDS = 60.0
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""For processes that cannot write whole files. Python would store truncated modules,
which no later process could import."""
_PORTS = range(15_000, 32_768)


def environment_with(settings: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with these settings in place of its own."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    return {**inherited, **settings}


def start_server(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdout: Path,
    stderr: Path,
    folder: Path | None = None,
    cold: bool = False,
) -> Process:
    """Start `readback serve` in its own session, with its output in files.

    Only a `cold` server inherits the CPU affinity of this process, and imports Django
    only in the processes that need it.
    """
    command = ["serve", *arguments]
    if not cold:
        return WarmProcess(
            command, environment, stdout=stdout, stderr=stderr, folder=folder
        )
    with stdout.open("wb") as out, stderr.open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "readback", *command],
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )


def run_command(
    environment: Mapping[str, str],
    *arguments: str,
    stdin: str = "",
    folder: Path | None = None,
    prefix: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a command without a terminal; the program in `prefix`, if any, starts it."""
    if arguments[0] != "serve" and not prefix:
        return run_warm(arguments, environment, stdin, folder, COMMAND_SECONDS)
    return subprocess.run(
        [*prefix, sys.executable, "-m", "readback", *arguments],
        env=dict(environment),
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
    )


def run_readback(
    environment: Mapping[str, str], *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command; fail if its exit code is not 0."""
    done = run_command(environment, *arguments, stdin=stdin)
    assert done.returncode == 0, f"{arguments}: {done.returncode} {done.stderr}"
    return done


def own_ports() -> dict[str, str]:
    """Return settings with free ports, so that several servers can run at once."""
    return {
        f"READBACK_{listener}_BIND": f"127.0.0.1:{free_port()}"
        for listener in ("API", "CABINET", "OPS")
    }


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port that nothing listens on, and that no other test is given.

    The port is below the range that the kernel uses for outgoing connections, so
    nothing takes it before the caller listens.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (shared_folder() / "last-port").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        port = int(file.read() or random.choice(_PORTS))
        while True:
            port = port + 1 if port + 1 in _PORTS else _PORTS.start
            with socket.socket(family) as sock, suppress(OSError):
                sock.bind((host, port))
                break
        file.truncate(0)
        file.write(str(port))
    return port
