"""What a child inherits, and what it does with a signal that arrives too early."""

import signal
import subprocess
import sys

import pytest
from tests.support.waiting import PATIENCE

FORK = """
import os, signal
from readback.processes import child
signal.signal(signal.SIGTERM, lambda *_: None)
def run():
    {body}
pid = child.fork(run)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
# Sends the signal while the child still has its parent's handlers.
TOO_EARLY = """
import os, signal
fork = os.fork
def fork_and_signal():
    pid = fork()
    if pid == 0:
        os.kill(os.getpid(), signal.{name})
    return pid
os.fork = fork_and_signal
"""


def fork(body: str, before: str = "") -> tuple[str, str]:
    """Run a function in a child; return its exit code and what was printed."""
    code = before + FORK.format(body=body)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE
    )
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    ("body", "code", "printed"),
    [
        ("print('done')", 0, "done"),
        ("exit(7)", 7, ""),
        ("raise RuntimeError('out of order')", 3, "RuntimeError: out of order"),
    ],
)
def test_the_exit_code_says_how_it_ended_and_output_goes_to_standard_error(
    body: str, code: int, printed: str
) -> None:
    found, errors = fork(body)
    assert found == str(code)
    assert printed in errors


@pytest.mark.parametrize(
    ("name", "code"), [("SIGTERM", -signal.SIGTERM), ("SIGINT", 0), ("SIGHUP", 0)]
)
def test_no_signal_reaches_the_handlers_of_the_parent(name: str, code: int) -> None:
    found, _ = fork("pass", TOO_EARLY.format(name=name))
    assert found == str(code)
