"""The parent of both planes: it starts them, passes signals on and restarts them.

gunicorn manages the workers of each plane. This module adds what gunicorn cannot do:
run both planes as one service that starts and stops as a whole, in which one plane goes
on while the other is started again. It imports neither plane.
"""

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import click

from readback.cli.exit_codes import ExitCode
from readback.cli.processes import Target, fork, signals_blocked

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
# A plane that has run for this long was healthy, so its next pause is short again.
HEALTHY_SECONDS = 60.0


class RestartPause:
    """How long a plane stays down after each of its deaths: 1, 2, 4 … 30 seconds."""

    def __init__(self) -> None:
        self._next = FIRST_PAUSE_SECONDS

    def after(self, seconds: float) -> float:
        """Return the pause after a plane that has run for this many seconds."""
        pause = FIRST_PAUSE_SECONDS if seconds >= HEALTHY_SECONDS else self._next
        self._next = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return pause


@dataclass
class Plane:
    """A child process: when it was started, and what it runs after a death."""

    name: str
    restart: Target
    started_at: float = 0.0
    due_at: float = 0.0
    pause: RestartPause = field(default_factory=RestartPause)


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
        with signals_blocked():
            if not self._stopping:
                plane.started_at = time.monotonic()
                self._running[fork(target)] = plane

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
        if self._restarts and not self._stopping:
            self._plan_restart(plane, child, code)
            return
        if self._stopping:
            # A child that has no handler yet is killed by the signal, which is fine.
            code = ExitCode.OK if -code in (signal.SIGTERM, signal.SIGINT) else code
        else:
            click.echo(
                f"The {plane.name} exited unexpectedly; stopping Readback.", err=True
            )
            self.stop()
        # Like a shell: a process killed by signal 9 has exit code 137.
        self._exit_codes.append(code if code >= 0 else 128 - code)

    def _plan_restart(self, plane: Plane, child: int, code: int) -> None:
        # Workers whose master was killed must not answer beside those of the next one.
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        now = time.monotonic()
        pause = plane.pause.after(now - plane.started_at)
        plane.due_at = now + pause
        self._dead.append(plane)
        reason = f"exited with code {code}" if code >= 0 else f"got signal {-code}"
        click.echo(
            f"The {plane.name} {reason}; starting it again in {pause:.0f} s.", err=True
        )
