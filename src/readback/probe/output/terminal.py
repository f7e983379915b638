"""The checklist in a terminal: one line per finished step, the running step last.

Finished lines are ordinary output, so that they can be scrolled and copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table
from rich.text import Text

from readback.probe.report import SKIPPED, ProbeReport
from readback.probe.results import Diagnosis, StepResult, Verdict

_MARKS = {
    Verdict.OK: ("✓", "green"),
    Verdict.WARN: ("!", "yellow"),
    Verdict.FAIL: ("✗", "red"),
    Verdict.SKIP: ("–", "bright_black"),
}
_QUIET = "bright_black"


class TerminalDisplay:
    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._skipped: list[StepResult] = []

    @contextmanager
    def running(self, title: str) -> Iterator[None]:
        """Show the title of the running step; remove it when the step is done."""
        with self._console.status(Text(title), spinner="dots", spinner_style="cyan"):
            yield

    def show(self, result: StepResult) -> None:
        # All skipped steps share one line.
        if result.diagnosis.id == SKIPPED:
            self._skipped.append(result)
            return
        self._show_skipped()
        self._console.print(
            _row(result.title, result.diagnosis, _text(result.diagnosis))
        )

    def finish(self, report: ProbeReport) -> None:
        self._show_skipped()
        mark, color = _MARKS[report.verdict]
        self._console.print()
        self._console.print(Text(f"     {report.effort}", _QUIET))
        verdict = Table.grid(padding=(0, 2, 0, 0))
        style = f"bold {color}"
        verdict.add_row(Text(f"  {mark}", style), Text(report.sentence, style))
        self._console.print(verdict)

    def _show_skipped(self) -> None:
        if self._skipped:
            titles = ", ".join(result.title for result in self._skipped)
            diagnosis = self._skipped[0].diagnosis
            self._console.print(_row("skipped", diagnosis, Text(titles, _QUIET)))
            self._skipped.clear()


def _row(title: str, diagnosis: Diagnosis, text: Text) -> Table:
    mark, color = _MARKS[diagnosis.verdict]
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=3)
    table.add_column(width=18)
    table.add_column(width=7, justify="right")
    table.add_column(overflow="fold")
    quiet = _QUIET if diagnosis.verdict == Verdict.SKIP else ""
    table.add_row(
        Text(f"  {mark}", color), Text(title, quiet), Text(diagnosis.figure), text
    )
    return table


def _text(diagnosis: Diagnosis) -> Text:
    quiet = _QUIET if diagnosis.verdict == Verdict.SKIP else ""
    text = Text(diagnosis.sentence, quiet)
    for detail in diagnosis.details:
        text.append(f"\n{detail}", _QUIET)
    if diagnosis.hint:
        text.append(f"\n→ {diagnosis.hint}", quiet or "bold")
    if diagnosis.culprit:
        text.append(f"\n{diagnosis.id}: look first at {diagnosis.culprit}", _QUIET)
    return text
