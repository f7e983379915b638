"""Run a command in a real terminal: read its screen and type answers."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cli.program import Program
from tests.support.commands import environment_with
from tests.support.terminal import Terminal, opened
from tests.support.waiting import PATIENCE
from tests.support.warm_start import WarmProcess


@contextmanager
def started(program: Program, arguments: Sequence[str]) -> Iterator[Terminal]:
    settings = {**program.settings, "COLUMNS": "160", "TERM": "xterm"}
    with opened() as (controller, screen):
        tty = Path(os.ttyname(screen))
        process = WarmProcess(
            arguments,
            environment_with(settings),
            stdin=tty,
            stdout=tty,
            stderr=tty,
            folder=program.folder,
        )
        yield Terminal(process, controller)


def type_into(
    program: Program, arguments: Sequence[str], *dialogue: tuple[str, str]
) -> tuple[int, str]:
    """Run a command; wait for each prompt and type its answer.

    Return the exit code and everything that the screen showed.
    """
    with started(program, arguments) as terminal:
        shown = terminal.type(*dialogue)
        return terminal.process.wait(PATIENCE), shown


@contextmanager
def serving_in_terminal(program: Program, until: str) -> Iterator[str]:
    """Run `readback serve`; return the screen as soon as it shows the text."""
    with started(program, ["serve"]) as terminal:
        try:
            yield terminal.read_until(until)
        finally:
            terminal.process.terminate()
            exit_code = terminal.process.wait(PATIENCE)
    assert exit_code == 0
