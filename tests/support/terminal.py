"""A process in a terminal, used as a person does: read the screen and type."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.support.commands import Process
from tests.support.waiting import LONGEST_POLL_SECONDS, PATIENCE


@contextmanager
def opened() -> Iterator[tuple[int, int]]:
    """Open a terminal: the end that a person would use, and that of the command."""
    with ExitStack() as stack:
        ends = pty.openpty()
        for end in ends:
            stack.callback(os.close, end)
        yield ends


def answer(command: Sequence[str], *dialogue: tuple[str, str], **options: str) -> str:
    """Run a command that asks; return what the screen showed."""
    with opened() as (controller, screen):
        process = subprocess.Popen(
            command, stdin=screen, stdout=screen, stderr=screen, **options
        )
        shown = Terminal(process, controller).type(*dialogue)
        assert process.wait(PATIENCE) == 0, shown
        return shown


@dataclass(frozen=True)
class Terminal:
    """A process and the person's end of its terminal."""

    process: Process
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
        """Return what the screen has shown since the last time, if anything."""
        ready, _, _ = select.select([self.controller], [], [], LONGEST_POLL_SECONDS)
        return os.read(self.controller, 65_536) if ready else b""
