"""How a walk is shown: to a person at a terminal, a pipe, a program, a ticket."""

from contextlib import AbstractContextManager
from typing import Protocol

from readback.probe.report import Line, Report


class Display(Protocol):
    """What shows a walk while it is made."""

    def at_work(self, title: str) -> AbstractContextManager[None]:
        """Surround the step that is being made."""

    def show(self, line: Line) -> None:
        """Take a step that is made."""

    def end(self, report: Report) -> None:
        """Take the whole; the verdict is the last line."""
