"""A real terminal for a command: what it shows, and what somebody types."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Sequence

from tests.cli.program import PATIENCE, READBACK, Program, environment


def type_into(
    program: Program, arguments: Sequence[str], *dialogue: tuple[str, str]
) -> tuple[int, str]:
    """Run a command; wait for each prompt and type its answer.

    Give the exit code and everything that the screen showed.
    """
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
    shown = ""
    for prompt, answer in dialogue:
        shown += _read_until(controller, prompt)
        os.write(controller, f"{answer}\n".encode())
    shown += _read_until(controller, None)
    os.close(controller)
    return process.wait(PATIENCE), shown


def _read_until(controller: int, words: str | None) -> str:
    """Read until the words appear, or, without words, until the command ends."""
    deadline = time.monotonic() + PATIENCE
    shown = ""
    while words is None or words not in shown:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([controller], [], [], left)[0]:
            raise AssertionError(f"waited for {words!r}, saw {shown!r}")
        try:
            part = os.read(controller, 4096)
        except OSError:  # Linux says so when nobody has the terminal open any more
            part = b""
        if not part:
            assert words is None, f"ended without {words!r}: {shown!r}"
            return shown
        shown += part.decode()
    return shown
