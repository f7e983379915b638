"""Run a command in a real terminal: read its screen and type answers."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.cli.program import READBACK, TIMEOUT, Program, environment


def type_into(
    program: Program, arguments: Sequence[str], *dialogue: tuple[str, str]
) -> tuple[int, str]:
    """Run a command; wait for each prompt and type its answer.

    Return the exit code and everything that the screen showed.
    """
    process, controller = _start(program, arguments)
    shown = ""
    for prompt, answer in dialogue:
        shown += _read_until(controller, prompt)
        os.write(controller, f"{answer}\n".encode())
    shown += _read_until(controller, None)
    os.close(controller)
    return process.wait(TIMEOUT), shown


@contextmanager
def serving_in_terminal(program: Program, until: str) -> Iterator[str]:
    """Run `readback serve`; return the screen as soon as it shows the text."""
    process, controller = _start(program, ["serve"])
    try:
        yield _read_until(controller, until)
    finally:
        process.terminate()
        exit_code = process.wait(TIMEOUT)
        os.close(controller)
    assert exit_code == 0


def _start(
    program: Program, arguments: Sequence[str]
) -> tuple[subprocess.Popen[bytes], int]:
    """Return the process, and the end of its terminal that a person would use."""
    controller, screen = pty.openpty()
    process = subprocess.Popen(
        [*READBACK, *arguments],
        env=environment({**program.settings, "COLUMNS": "160", "TERM": "xterm"}),
        cwd=program.folder,
        stdin=screen,
        stdout=screen,
        stderr=screen,
    )
    os.close(screen)
    return process, controller


def _read_until(controller: int, text: str | None) -> str:
    """Read until the text appears; without a text, until the command ends."""
    deadline = time.monotonic() + TIMEOUT
    shown = ""
    while text is None or text not in shown:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([controller], [], [], left)[0]:
            raise AssertionError(f"waited for {text!r}, saw {shown!r}")
        try:
            part = os.read(controller, 4096)
        except OSError:  # Linux, once no process has the terminal open
            part = b""
        if not part:
            assert text is None, f"ended without {text!r}: {shown!r}"
            return shown
        shown += part.decode()
    return shown
