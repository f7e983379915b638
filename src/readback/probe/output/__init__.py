"""How a run is shown: in a terminal, as plain lines, as JSON or as Markdown."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from readback.probe.report import ProbeReport
from readback.probe.results import StepResult


class Display(Protocol):
    """Shows a run while it is in progress."""

    def running(self, title: str) -> AbstractContextManager[None]:
        """Return a context manager that is active while the step runs."""

    def show(self, result: StepResult) -> None:
        """Show the result of a step."""

    def finish(self, report: ProbeReport) -> None:
        """Show the summary; the verdict is the last line."""
