"""Run a command in a real terminal: read its screen and type answers."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli.program import READBACK, Program
from tests.support.commands import Process, environment_with
from tests.support.waiting import LONGEST_POLL_SECONDS, PATIENCE
from tests.support.warm_start import WarmProcess


def type_into(
    program: Program, arguments: Sequence[str], *dialogue: tuple[str, str]
) -> tuple[int, str]:
    """Run a command; wait for each prompt and type its answer.

    Return the exit code and everything that the screen showed.
    """
    with _opened() as (controller, screen):
        tty = Path(os.ttyname(screen))
        process = WarmProcess(
            arguments,
            _environment(program),
            stdin=tty,
            stdout=tty,
            stderr=tty,
            folder=program.folder,
        )
        terminal = _Terminal(process, controller)
        shown = ""
        for prompt, answer in dialogue:
            shown += terminal.read_until(prompt)
            os.write(controller, f"{answer}\n".encode())
        shown += terminal.read_until(None)
        return process.wait(PATIENCE), shown


@contextmanager
def serving_in_terminal(program: Program, until: str) -> Iterator[str]:
    """Run `readback serve`; return the screen as soon as it shows the text."""
    with _opened() as (controller, screen):
        process = subprocess.Popen(
            [*READBACK, "serve"],
            env=_environment(program),
            cwd=program.folder,
            stdin=screen,
            stdout=screen,
            stderr=screen,
        )
        try:
            yield _Terminal(process, controller).read_until(until)
        finally:
            process.terminate()
            exit_code = process.wait(PATIENCE)
    assert exit_code == 0


@contextmanager
def _opened() -> Iterator[tuple[int, int]]:
    """Open a terminal: the end that a person would use, and that of the command."""
    with ExitStack() as stack:
        ends = pty.openpty()
        for end in ends:
            stack.callback(os.close, end)
        yield ends


def _environment(program: Program) -> dict[str, str]:
    return environment_with({**program.settings, "COLUMNS": "160", "TERM": "xterm"})


@dataclass(frozen=True)
class _Terminal:
    """A process in a terminal, seen from where a person sits."""

    process: Process
    controller: int

    def read_until(self, text: str | None) -> str:
        """Read until the text appears; without a text, until the command ends."""
        deadline = time.monotonic() + PATIENCE
        shown = ""
        while text is None or text not in shown:
            has_ended = self.process.poll() is not None
            if part := self._read():
                shown += part
                continue
            if has_ended:
                assert text is None, f"ended without {text!r}: {shown!r}"
                return shown
            assert time.monotonic() < deadline, f"waited for {text!r}, saw {shown!r}"
        return shown

    def _read(self) -> str:
        """Return what the screen has shown since the last time, if anything."""
        ready, _, _ = select.select([self.controller], [], [], LONGEST_POLL_SECONDS)
        return os.read(self.controller, 65_536).decode() if ready else ""
