"""Run commands of the product as an operator does: as processes, with an environment.

`warm_start.py` saves their imports, except for `serve` and behind another program.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.warm_start import run_warm

COMMAND_SECONDS = 60.0


def environment_with(settings: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with these settings in place of its own."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    return {**inherited, **settings}


def run_command(
    environment: Mapping[str, str],
    *arguments: str,
    stdin: str = "",
    folder: Path | None = None,
    prefix: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without a terminal; `prefix` is a program to run it."""
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


def free_port(host: str = "127.0.0.1") -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as sock:
        sock.bind((host, 0))
        return int(sock.getsockname()[1])
