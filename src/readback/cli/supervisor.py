"""The parent of both planes: it forks them, passes signals on and ends with them.

gunicorn manages the workers of each plane. This module adds what gunicorn cannot do:
run both planes as one service that starts and stops as a whole. It imports neither
plane, and starts none again: whatever has started the service does that.
"""

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import click

from readback import logs
from readback.cli.exit_codes import CannotStart, ExitCode, Failure

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>
# GNU timeout sends its signal twice: to the process, and at once to the process group.
_SAME_SIGNAL_SECONDS = 0.5

# What a child process runs; returns its exit code.
Target = Callable[[], int]


class Supervisor:
    """The planes, which receive the same signals.

    If one exits, all are stopped. SIGTERM, SIGINT and SIGHUP are passed on. When the
    planes are stopping already, another SIGTERM or SIGINT kills them, unless it
    belongs to the first.
    """

    def __init__(self) -> None:
        # The name of each child process.
        self._running: dict[int, str] = {}
        self._exit_codes: list[int] = []
        # When the planes were asked to stop; 0 means that they were not.
        self._stopping = 0.0
        # Python writes a byte here for each signal, which ends the wait in `wait`, also
        # if the signal arrives just before the wait begins.
        self._wakeup, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, lambda *_: self._signal_all(signal.SIGHUP))

    def start(self, name: str, target: Target) -> None:
        # A signal between the fork and the next line would find a child that still
        # has the parent's handlers, or a parent that does not have the child's id.
        # Those that have arrived before are handled when they are blocked.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            if not self._stopping:
                self._running[fork(target)] = name
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def is_running(self) -> bool:
        """Return whether all planes run and none has been asked to stop."""
        self._reap()
        return bool(self._running) and not self._stopping

    def wait(self) -> int:
        """Wait until the service has ended; return the highest exit code."""
        self._reap()
        while self._running:
            os.read(self._wakeup, 4096)
            self._reap()
        return max(self._exit_codes, default=ExitCode.OK)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._stopping = self._stopping or time.monotonic()
        self._signal_all(number)

    def _on_stop(self, number: int, frame: object) -> None:
        if not self._stopping:
            self.stop(signal.Signals(number))
        elif time.monotonic() - self._stopping > _SAME_SIGNAL_SECONDS:
            self._signal_all(signal.SIGKILL)

    def _signal_all(self, number: signal.Signals) -> None:
        # gunicorn's master passes every signal on to its workers except SIGKILL,
        # which it cannot handle: that one goes to its whole process group.
        send = os.killpg if number == signal.SIGKILL else os.kill
        for child in self._running:
            with suppress(ProcessLookupError):
                send(child, number)

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                child, status = ended
                if name := self._running.pop(child, None):
                    self._note_exit(name, child, os.waitstatus_to_exitcode(status))

    def _note_exit(self, name: str, child: int, code: int) -> None:
        if self._stopping:
            # A child that has no handler yet is killed by the signal, which is fine.
            code = ExitCode.OK if -code in (signal.SIGTERM, signal.SIGINT) else code
        else:
            reason = f"exited with code {code}" if code >= 0 else f"got signal {-code}"
            click.echo(f"The {name} {reason}; stopping Readback.", err=True)
            # Workers whose master was killed must not outlive the service.
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            # Nobody asked for this end, so it is a failure in any case.
            code = code or ExitCode.FAILURE
            self.stop()
        # Like a shell: a process killed by signal 9 has exit code 137.
        self._exit_codes.append(code if code >= 0 else 128 - code)


class ResultPipe:
    """Carries one result, or one error message, from a child to its parent."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def send_result_of(self, function: Callable[[], dict[str, str] | None]) -> int:
        """Call a function, once and in the child; return the child's exit code."""
        code = ExitCode.OK
        try:
            result = function() or {}
        except CannotStart as error:
            result, code = {"error": error.message}, ExitCode.CANNOT_START
        os.close(self._read)
        with os.fdopen(self._write, "w") as pipe:
            json.dump(result, pipe)
        return code

    def receive(self) -> dict[str, str]:
        """Wait for the result, in the parent; it is empty if the child died."""
        os.close(self._write)
        with os.fdopen(self._read) as pipe:
            result: dict[str, str] = json.loads(pipe.read() or "{}")
        if "error" in result:
            raise CannotStart(result["error"])
        return result


def run_in_child(function: Callable[[], None]) -> None:
    """Run a function in a child process; raise `CannotStart` if it does.

    For functions that need Django, called from a process that must not import it.
    """
    pipe = ResultPipe()
    child = fork(lambda: pipe.send_result_of(function))
    try:
        pipe.receive()
    finally:
        _, status = os.waitpid(child, 0)
    if status:
        raise Failure("Readback did not start because a child process failed.")


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
        # A terminal sends Ctrl-C to its whole process group. In a group of its own, a
        # child gets signals only from the parent.
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (*SIGNALS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        # Until gunicorn handles it, there is nothing to reload.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        # Only the parent writes to standard output, because scripts parse it.
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        stop_with_parent()
        if os.getppid() == parent:
            code = target()
    except SystemExit as error:
        code = error.code or ExitCode.OK
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        logs.flush()
        os._exit(code if isinstance(code, int) else ExitCode.FAILURE)


def stop_with_parent() -> None:
    """Have the kernel stop this process when its parent exits, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
