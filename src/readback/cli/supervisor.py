"""The parent of both planes: it forks them, passes signals on and restarts them.

gunicorn manages the workers of each plane. This module adds what gunicorn cannot do:
run both planes as one service that starts and stops as a whole, in which one plane goes
on while the other is started again. It imports neither plane.
"""

import ctypes
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import click

from readback import logs
from readback.cli.exit_codes import CannotStart, ExitCode, Failure

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
# A plane that has run for this long was healthy, so its next pause is short again.
HEALTHY_SECONDS = 60.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>

# What a child process runs; returns its exit code, or None for success.
Target = Callable[[], int | None]


@dataclass
class Plane:
    """A child process: when it was started, and what it runs after a death."""

    name: str
    restart: Target
    started_at: float = 0.0
    due_at: float = 0.0
    _next_pause: float = FIRST_PAUSE_SECONDS

    def pause_after(self, seconds: float) -> float:
        """Return how long it stays down after having run for this many seconds.

        After each of its deaths: 1, 2, 4 … 30 seconds.
        """
        is_healthy = seconds >= HEALTHY_SECONDS
        pause = FIRST_PAUSE_SECONDS if is_healthy else self._next_pause
        self._next_pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return pause


class Supervisor:
    """The planes, which receive the same signals.

    If one exits before `restart_from_now_on` is called, all are stopped. Later it is
    started again after a pause, and the others do not notice. SIGTERM, SIGINT and
    SIGHUP are passed on. When the planes are stopping already, another SIGTERM or
    SIGINT kills them.
    """

    def __init__(self, before_stop: Callable[[], None]) -> None:
        self._before_stop = before_stop
        self._running: dict[int, Plane] = {}
        self._dead: list[Plane] = []
        self._exit_codes: list[int] = []
        self._restarts = False
        self._stopping = False
        # Python writes a byte here for each signal, which ends the wait in `_sleep`,
        # also if the signal arrives just before the wait begins.
        self._wakeup, writer = os.pipe()
        for descriptor in (self._wakeup, writer):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, lambda *_: self._signal_all(signal.SIGHUP))

    def start(self, name: str, target: Target, restart: Target | None = None) -> None:
        """Start a plane; `restart` is what it runs after a death, if that differs."""
        self._fork(Plane(name, restart or target), target)

    def is_running(self) -> bool:
        """Return whether all planes run and none has been asked to stop."""
        self._reap()
        return bool(self._running) and not self._exit_codes and not self._stopping

    def restart_from_now_on(self) -> None:
        self._restarts = True

    def wait(self) -> int:
        """Wait until the service has ended; return the highest exit code."""
        while self._running or (self._dead and not self._stopping):
            self._sleep()
            self._reap()
            now = time.monotonic()
            for plane in [one for one in self._dead if one.due_at <= now]:
                self._dead.remove(plane)
                click.echo(f"Starting the {plane.name} again.", err=True)
                self._fork(plane, plane.restart)
        return max(self._exit_codes, default=ExitCode.OK)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._stopping = True
        self._before_stop()
        self._signal_all(number)

    def _on_stop(self, number: int, frame: object) -> None:
        if self._stopping:
            self._signal_all(signal.SIGKILL)
        else:
            self.stop(signal.Signals(number))

    def _signal_all(self, number: signal.Signals) -> None:
        # gunicorn's master passes every signal on to its workers except SIGKILL,
        # which it cannot handle: that one goes to its whole process group.
        send = os.killpg if number == signal.SIGKILL else os.kill
        for child in self._running:
            with suppress(ProcessLookupError):
                send(child, number)

    def _fork(self, plane: Plane, target: Target) -> None:
        # A signal between the fork and the next line would find a child that still
        # has the parent's handlers, or a parent that does not have the child's id.
        # Those that have arrived before are handled when they are blocked.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            if not self._stopping:
                plane.started_at = time.monotonic()
                self._running[fork(target)] = plane
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _sleep(self) -> None:
        """Wait for a signal, or until a plane is due to be started again."""
        due = min((plane.due_at for plane in self._dead), default=None)
        seconds = None if due is None else max(0.0, due - time.monotonic())
        select.select([self._wakeup], [], [], None if self._stopping else seconds)
        with suppress(BlockingIOError):
            os.read(self._wakeup, 4096)

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                child, status = ended
                if plane := self._running.pop(child, None):
                    self._note_exit(plane, child, os.waitstatus_to_exitcode(status))

    def _note_exit(self, plane: Plane, child: int, code: int) -> None:
        if self._stopping:
            # A child that has no handler yet is killed by the signal, which is fine.
            code = ExitCode.OK if -code in (signal.SIGTERM, signal.SIGINT) else code
        elif self._restarts:
            # Workers whose master was killed must not answer beside those of the next.
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            now = time.monotonic()
            pause = plane.pause_after(now - plane.started_at)
            plane.due_at = now + pause
            self._dead.append(plane)
            reason = f"exited with code {code}" if code >= 0 else f"got signal {-code}"
            again = f"starting it again in {pause:.0f} s"
            click.echo(f"The {plane.name} {reason}; {again}.", err=True)
            return
        else:
            click.echo(
                f"The {plane.name} exited unexpectedly; stopping Readback.", err=True
            )
            self.stop()
        # Like a shell: a process killed by signal 9 has exit code 137.
        self._exit_codes.append(code if code >= 0 else 128 - code)


class ResultPipe:
    """Carries one result, or one error message, from a child to its parent."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def send_result_of(self, function: Callable[[], dict[str, str]]) -> int:
        """Call a function, once and in the child; return the child's exit code."""
        code = ExitCode.OK
        try:
            result = function()
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


def run_in_child(function: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Run a function in a child process and return its result.

    For functions that need Django, called from a process that must not import it.
    """
    pipe = ResultPipe()
    child = fork(lambda: pipe.send_result_of(function))
    try:
        result = pipe.receive()
    finally:
        _, status = os.waitpid(child, 0)
    if status:
        raise Failure("Readback did not start because a child process failed.")
    return result


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
        if os.getppid() != parent:
            raise SystemExit(ExitCode.FAILURE)
        code = target() or ExitCode.OK
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
