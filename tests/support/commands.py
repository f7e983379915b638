"""Run commands of the product as an operator does: as processes, with an environment.

Nothing here looks inside the package.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping

COMMAND_SECONDS = 60.0


def environment_with(settings: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with these settings in place of its own."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    return {**inherited, **settings}


def run_readback(
    environment: Mapping[str, str], *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command; fail if its exit code is not 0."""
    done = subprocess.run(
        [sys.executable, "-m", "readback", *arguments],
        env=dict(environment),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
    )
    assert done.returncode == 0, f"{arguments}: {done.returncode} {done.stderr}"
    return done


def free_port(host: str = "127.0.0.1") -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as sock:
        sock.bind((host, 0))
        return int(sock.getsockname()[1])
