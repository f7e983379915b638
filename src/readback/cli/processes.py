"""Child processes, forked from a small parent, and how their results come back.

What happens to the two planes afterwards is in `supervisor.py`.
"""

import ctypes
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from readback.cli.exit_codes import CannotStart, ExitCode, Failure

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>

# What a child process runs; returns its exit code, or None for success.
Target = Callable[[], int | None]


class ResultPipe:
    """Carries one result, or one error message, from a child to its parent."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def send(self, **result: str) -> None:
        """Send the result; called once, in the child."""
        os.close(self._read)
        with os.fdopen(self._write, "w") as pipe:
            json.dump(result, pipe)

    def receive(self) -> dict[str, str]:
        """Wait for the result, in the parent; it is empty if the child died."""
        os.close(self._write)
        with os.fdopen(self._read) as pipe:
            result: dict[str, str] = json.loads(pipe.read() or "{}")
        if "error" in result:
            raise CannotStart(result["error"])
        return result


def run_in_child(function: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Run a function in a child process and return its result.

    For functions that need Django, called from a process that must not import it.
    """
    pipe = ResultPipe()
    child = fork(lambda: send_result(pipe, function))
    try:
        result = pipe.receive()
    finally:
        _, status = os.waitpid(child, 0)
    if status:
        raise Failure("Readback did not start because a child process failed.")
    return result


def send_result(pipe: ResultPipe, function: Callable[[], dict[str, str]]) -> int:
    """Send what the function returns, or the message of its `CannotStart`."""
    try:
        result = function()
    except CannotStart as error:
        pipe.send(error=error.message)
        return ExitCode.CANNOT_START
    pipe.send(**result)
    return ExitCode.OK


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Hold signals back; those that arrived earlier have been handled."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def fork(target: Target) -> int:
    """Run the target in a child process, in a process group of its own."""
    # Otherwise both processes would write what is still in the buffers.
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _run_child(target, parent)
    # Parent and child both do this, because either may need it first.
    with suppress(OSError):
        os.setpgid(child, child)
    return child


def _run_child(target: Target, parent: int) -> NoReturn:
    """Run the target and exit, never returning into the parent's code."""
    code: Any = ExitCode.FAILURE
    try:
        _set_up_child(parent)
        code = target() or ExitCode.OK
    except SystemExit as error:
        code = error.code or ExitCode.OK
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else ExitCode.FAILURE)


def _set_up_child(parent: int) -> None:
    # A terminal sends Ctrl-C to its whole process group. In a group of its own, a child
    # gets signals only from the parent.
    os.setpgid(0, 0)
    signal.set_wakeup_fd(-1)
    for number in (*SIGNALS, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    # Until gunicorn handles it, there is nothing to reload.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    # Only the parent writes to standard output, because scripts parse it.
    os.dup2(2, 1)
    stop_with_parent()
    if os.getppid() != parent:
        raise SystemExit(ExitCode.FAILURE)


def stop_with_parent() -> None:
    """Have the kernel stop this process when its parent exits, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
