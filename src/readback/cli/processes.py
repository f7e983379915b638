"""Child processes, forked from a small parent and stopped together.

gunicorn manages the workers of each plane. This module adds what gunicorn cannot do:
run both planes as one service that starts and stops as a whole. The parent process
imports neither plane.
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

import click

from readback.cli.exit_codes import CannotStart, ExitCode, Failure

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
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


class ProcessGroup:
    """Child processes that receive the same signals; when one exits, all are stopped.

    SIGTERM, SIGINT and SIGHUP are passed on. When the children are stopping already,
    another SIGTERM or SIGINT kills them.
    """

    def __init__(self) -> None:
        self._children: dict[int, str] = {}
        self._exit_codes: list[int] = []
        self._stopping = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_reload)

    def is_running(self) -> bool:
        """Return whether all children run and none has been asked to stop."""
        self._reap(os.WNOHANG)
        return bool(self._children) and not self._exit_codes and not self._stopping

    def start(self, name: str, target: Target) -> None:
        # A signal between the fork and the next line would find a child that still
        # has the parent's handlers, or a parent that does not have the child's id.
        with _signals_blocked():
            self._children[_fork(target)] = name

    def wait(self) -> int:
        """Wait until all children have exited; return the highest exit code."""
        while self._children:
            self._reap(0)
        return max(self._exit_codes, default=ExitCode.OK)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._stopping = True
        self._signal_all(number)

    def _on_stop(self, number: int, frame: object) -> None:
        if self._stopping:
            self._signal_all(signal.SIGKILL)
        else:
            self.stop(signal.Signals(number))

    def _on_reload(self, number: int, frame: object) -> None:
        self._signal_all(signal.SIGHUP)

    def _signal_all(self, number: signal.Signals) -> None:
        # gunicorn's master passes every signal on to its workers except SIGKILL,
        # which it cannot handle: that one goes to its whole process group.
        send = os.killpg if number == signal.SIGKILL else os.kill
        for child in self._children:
            with suppress(ProcessLookupError):
                send(child, number)

    def _reap(self, options: int) -> None:
        with suppress(ChildProcessError):
            child, status = os.waitpid(-1, options)
            name = self._children.pop(child, None)
            if name:
                self._record_exit(name, os.waitstatus_to_exitcode(status))

    def _record_exit(self, name: str, code: int) -> None:
        if self._stopping:
            # A child that has no handler yet is killed by the signal, which is fine.
            code = ExitCode.OK if -code in (signal.SIGTERM, signal.SIGINT) else code
        else:
            click.echo(f"The {name} exited unexpectedly; stopping Readback.", err=True)
            self.stop()
        # Like a shell: a process killed by signal 9 has exit code 137.
        self._exit_codes.append(code if code >= 0 else 128 - code)


def run_in_child(function: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Run a function in a child process and return its result.

    For functions that need Django, called from a process that must not import it.
    """
    pipe = ResultPipe()
    child = _fork(lambda: send_result(pipe, function))
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
def _signals_blocked() -> Iterator[None]:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _fork(target: Target) -> int:
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
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    # Only the parent writes to standard output, because scripts parse it.
    os.dup2(2, 1)
    _stop_with_parent(parent)


def _stop_with_parent(parent: int) -> None:
    """Have the kernel stop this process when the parent exits, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit(ExitCode.FAILURE)
