"""Child processes: forked from a parent that stays small, and stopped together.

gunicorn manages the workers of each plane; here there is only what it cannot know:
that two planes live and end as one. The parent imports neither plane.
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

from readback.cli.exits import CannotStart, Exit, Failure

_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>

Body = Callable[[], int | None]


class Report:
    """One message from a child to its parent: what it did, or why it could not."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def send(self, **facts: str) -> None:
        """Tell the parent, in the child; called once."""
        os.close(self._read)
        with os.fdopen(self._write, "w") as pipe:
            json.dump(facts, pipe)

    def receive(self) -> dict[str, str]:
        """Wait for the message, in the parent; a child that died says nothing."""
        os.close(self._write)
        with os.fdopen(self._read) as pipe:
            facts: dict[str, str] = json.loads(pipe.read() or "{}")
        if "error" in facts:
            raise CannotStart(facts["error"])
        return facts


class Family:
    """The children of this process: a signal reaches all, and one's end ends all."""

    def __init__(self) -> None:
        self._children: dict[int, str] = {}
        self._codes: list[int] = []
        self._stopping = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_reload)

    def is_whole(self) -> bool:
        """Look whether all children run and nobody has asked them to stop."""
        self._collect_ended(os.WNOHANG)
        return bool(self._children) and not self._codes and not self._stopping

    def start(self, name: str, body: Body) -> None:
        # A signal that came between fork and its bookkeeping would find a child
        # with the parent's handlers, or a parent that does not know the child.
        with _signals_held():
            self._children[_fork(body)] = name

    def wait(self) -> int:
        """Wait until all have ended; give the exit code for the whole."""
        while self._children:
            self._collect_ended(0)
        return max(self._codes, default=Exit.OK)

    def stop(self) -> None:
        self._stopping = True
        self._signal_all(signal.SIGTERM)

    def _on_stop(self, number: int, frame: object) -> None:
        if self._stopping:
            self._signal_all(signal.SIGKILL)
        else:
            self.stop()

    def _on_reload(self, number: int, frame: object) -> None:
        self._signal_all(signal.SIGHUP)

    def _signal_all(self, number: signal.Signals) -> None:
        # SIGKILL must reach the workers, too; all else their manager passes on.
        send = os.killpg if number == signal.SIGKILL else os.kill
        for child in self._children:
            with suppress(ProcessLookupError):
                send(child, number)

    def _collect_ended(self, options: int) -> None:
        with suppress(ChildProcessError):
            child, status = os.waitpid(-1, options)
            name = self._children.pop(child, None)
            if name:
                self._note_end(name, os.waitstatus_to_exitcode(status))

    def _note_end(self, name: str, code: int) -> None:
        if self._stopping:
            # A child that had no handler yet obeys by dying of the signal.
            code = Exit.OK if code == -signal.SIGTERM else code
        else:
            click.echo(f"The {name} has ended, so all of Readback stops.", err=True)
            self.stop()
        # As shells count: a process that died of signal 9 has exit code 137.
        self._codes.append(code if code >= 0 else 128 - code)


def run_apart(body: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Run something in a child of its own and give what it found out.

    For what needs Django in a process that must not have it.
    """
    report = Report()
    child = _fork(lambda: report_on(report, body))
    try:
        facts = report.receive()
    finally:
        _, status = os.waitpid(child, 0)
    if status:
        raise Failure("The preparation has failed, so nothing is served.")
    return facts


def report_on(report: Report, body: Callable[[], dict[str, str]]) -> int:
    """Run the body and report what it gives, or the sentence it fails with."""
    try:
        facts = body()
    except CannotStart as error:
        report.send(error=error.message)
        return Exit.CANNOT_START
    report.send(**facts)
    return Exit.OK


@contextmanager
def _signals_held() -> Iterator[None]:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _fork(body: Body) -> int:
    # What is in a buffer now would be written twice.
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _live(body, parent)
    # Both sides do it, since either may be the first to need it.
    with suppress(OSError):
        os.setpgid(child, child)
    return child


def _live(body: Body, parent: int) -> NoReturn:
    """Be the child: from here nothing returns into the parent's code."""
    code: Any = Exit.FAILURE
    try:
        _settle(parent)
        code = body() or Exit.OK
    except SystemExit as end:
        code = end.code or Exit.OK
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else Exit.FAILURE)


def _settle(parent: int) -> None:
    # Ctrl-C goes to the whole group of the terminal, and gunicorn takes it for "at
    # once": in a group of its own a child hears only from the parent.
    os.setpgid(0, 0)
    for number in _HANDLED:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
    # Standard output belongs to the parent: scripts read it.
    os.dup2(2, 1)
    _end_with(parent)


def _end_with(parent: int) -> None:
    """Stop when the parent is gone, even if it was killed and could tell nobody."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit(Exit.FAILURE)
