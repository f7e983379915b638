"""Limits output to what the console can show, and shows progress on one line.

The line disappears when the run ends. It uses only ASCII and carriage returns, which
every console supports.
"""

from __future__ import annotations

import codecs
import io
import shutil
import time
from contextlib import suppress
from typing import TextIO

from readback.probe.common.catalogue import say

# Replacements for characters that a stream's encoding lacks.
_IN_ASCII = {
    "✓": "ok",
    "✗": "FAIL",
    "…": "...",
    "→": "->",
    **dict.fromkeys("–—", "-"),
    **dict.fromkeys("“”„«»", '"'),
    **dict.fromkeys("‘’", "'"),
}


def show_all(*streams: TextIO | None) -> None:
    """Make all output printable: use ASCII for characters that a stream cannot show."""

    def replaced(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        characters = error.object[error.start : error.end]
        return "".join(_IN_ASCII.get(c, "?") for c in characters), error.end

    codecs.register_error("in_ascii", replaced)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="in_ascii")


def can_show(text: str, stream: TextIO | None) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class ProgressLine:
    """The progress line; without a terminal, nothing is shown."""

    def __init__(self, terminal: TextIO | None) -> None:
        self._terminal = terminal
        self._started_at = time.monotonic()
        self._shown = ""
        self._widest = 0

    def show(self, step: str, done: int) -> None:
        seconds = time.monotonic() - self._started_at
        facts = {"step": step, "done": done, "seconds": f"{seconds:.0f}"}
        self._write(say("progress", **facts))

    def clear(self) -> None:
        self._write("")

    def _write(self, text: str) -> None:
        if self._terminal is None:
            return
        text = text[: shutil.get_terminal_size().columns - 1]
        if text == self._shown:
            return
        # Record the width first, so that the line is cleared even after Ctrl-C.
        self._widest = max(self._widest, len(text))
        self._shown = text
        # If the terminal is gone, showing progress must not raise an error.
        with suppress(OSError, ValueError):
            self._terminal.write(f"\r{' ' * self._widest}\r{text}")
            self._terminal.flush()


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # The stream is closed.
        return False
