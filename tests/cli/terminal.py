"""Run a command in a real terminal: read its screen and type answers."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cli.program import READBACK, Program
from tests.support.commands import environment_with
from tests.support.terminal import Terminal, opened
from tests.support.waiting import PATIENCE
from tests.support.warm_start import WarmProcess


def type_into(
    program: Program, arguments: Sequence[str], *dialogue: tuple[str, str]
) -> tuple[int, str]:
    """Run a command; wait for each prompt and type its answer.

    Return the exit code and everything that the screen showed.
    """
    with opened() as (controller, screen):
        tty = Path(os.ttyname(screen))
        process = WarmProcess(
            arguments,
            _environment(program),
            stdin=tty,
            stdout=tty,
            stderr=tty,
            folder=program.folder,
        )
        shown = Terminal(process, controller).type(*dialogue)
        return process.wait(PATIENCE), shown


@contextmanager
def serving_in_terminal(program: Program, until: str) -> Iterator[str]:
    """Run `readback serve`; return the screen as soon as it shows the text."""
    with opened() as (controller, screen):
        process = subprocess.Popen(
            [*READBACK, "serve"],
            env=_environment(program),
            cwd=program.folder,
            stdin=screen,
            stdout=screen,
            stderr=screen,
        )
        try:
            yield Terminal(process, controller).read_until(until)
        finally:
            process.terminate()
            exit_code = process.wait(PATIENCE)
    assert exit_code == 0


def _environment(program: Program) -> dict[str, str]:
    return environment_with({**program.settings, "COLUMNS": "160", "TERM": "xterm"})
