"""Run a command in a real terminal: read its screen and type answers."""

import os
import pty
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli.program import Program
from tests.support.commands import environment_with
from tests.support.waiting import LONGEST_POLL_SECONDS, PATIENCE
from tests.support.warm_start import WarmProcess


@dataclass(frozen=True)
class Terminal:
    """A process and the person's end of its terminal."""

    process: WarmProcess
    controller: int

    def type(self, *dialogue: tuple[str, str]) -> str:
        """Wait for each prompt and type its answer; return the whole screen."""
        shown = ""
        for prompt, text in dialogue:
            shown += self.read_until(prompt)
            os.write(self.controller, f"{text}\n".encode())
        return shown + self.read_until(None)

    def read_until(self, text: str | None) -> str:
        """Read until the text appears; without a text, until the command ends."""
        deadline = time.monotonic() + PATIENCE
        shown = b""  # a part may end inside a character
        while text is None or text.encode() not in shown:
            has_ended = self.process.poll() is not None
            if part := self._read():
                shown += part
                continue
            if has_ended:
                assert text is None, f"ended without {text!r}: {shown!r}"
                break
            assert time.monotonic() < deadline, f"waited for {text!r}, saw {shown!r}"
        return shown.decode(errors="replace")

    def _read(self) -> bytes:
        """Return what the screen has shown since the last call, if anything."""
        ready, _, _ = select.select([self.controller], [], [], LONGEST_POLL_SECONDS)
        return os.read(self.controller, 65_536) if ready else b""


@contextmanager
def started(program: Program, arguments: Sequence[str]) -> Iterator[Terminal]:
    settings = {**program.settings, "COLUMNS": "160", "TERM": "xterm"}
    with ExitStack() as stack:
        # The person's end, and the command's.
        controller, screen = ends = pty.openpty()
        for end in ends:
            stack.callback(os.close, end)
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
    """Run `readback serve`; yield what is on the screen once it shows the text."""
    with started(program, ["serve"]) as terminal:
        try:
            yield terminal.read_until(until)
        finally:
            terminal.process.terminate()
            exit_code = terminal.process.wait(PATIENCE)
    assert exit_code == 0
