"""What a child process inherits, and what it does with a signal that is too early."""

import signal
import subprocess
import sys

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


def test_the_exit_code_says_how_it_ended_and_output_goes_to_standard_error() -> None:
    for body, code, printed in (
        ("print('done')", "0", "done"),
        ("exit(7)", "7", ""),
        ("raise RuntimeError('out of order')", "3", "RuntimeError: out of order"),
    ):
        found, errors = fork(body)
        assert (found, printed in errors) == (code, True)


def test_no_signal_reaches_the_handlers_of_the_parent() -> None:
    for name, code in (("SIGTERM", -signal.SIGTERM), ("SIGINT", 0), ("SIGHUP", 0)):
        found, _ = fork("pass", TOO_EARLY.format(name=name))
        assert found == str(code)
