"""The checklist in a terminal: it grows line by line, the step at work last.

Lines that are done are ordinary output, so that they can be scrolled and copied.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table
from rich.text import Text

from readback.probe.findings import Finding, Verdict
from readback.probe.report import POINTLESS, Line, Report

_MARKS = {
    Verdict.OK: ("✓", "green"),
    Verdict.WARN: ("!", "yellow"),
    Verdict.FAIL: ("✗", "red"),
    Verdict.SKIP: ("–", "bright_black"),
}
_QUIET = "bright_black"


class Terminal:
    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._pointless: list[Line] = []

    @contextmanager
    def at_work(self, title: str) -> Iterator[None]:
        """Show which step is being made, and nothing of it afterwards."""
        with self._console.status(Text(title), spinner="dots", spinner_style="cyan"):
            yield

    def show(self, line: Line) -> None:
        # One line for all that could not be tried says as much as ten.
        if line.finding.id == POINTLESS:
            self._pointless.append(line)
            return
        self._show_pointless()
        self._console.print(_row(line.title, line.finding, _text(line.finding)))

    def end(self, report: Report) -> None:
        self._show_pointless()
        mark, colour = _MARKS[report.verdict]
        self._console.print()
        self._console.print(Text(f"     {report.effort}", _QUIET))
        verdict = Table.grid(padding=(0, 2, 0, 0))
        style = f"bold {colour}"
        verdict.add_row(Text(f"  {mark}", style), Text(report.sentence, style))
        self._console.print(verdict)

    def _show_pointless(self) -> None:
        if self._pointless:
            titles = ", ".join(line.title for line in self._pointless)
            finding = self._pointless[0].finding
            self._console.print(_row("not tried", finding, Text(titles, _QUIET)))
            self._pointless.clear()


def _row(title: str, finding: Finding, text: Text) -> Table:
    mark, colour = _MARKS[finding.verdict]
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=3)
    table.add_column(width=18)
    table.add_column(width=7, justify="right")
    table.add_column(overflow="fold")
    quiet = _QUIET if finding.verdict == Verdict.SKIP else ""
    table.add_row(
        Text(f"  {mark}", colour), Text(title, quiet), Text(finding.figure), text
    )
    return table


def _text(finding: Finding) -> Text:
    quiet = _QUIET if finding.verdict == Verdict.SKIP else ""
    text = Text(finding.sentence, quiet)
    for detail in finding.details:
        text.append(f"\n{detail}", _QUIET)
    if finding.hint:
        text.append(f"\n→ {finding.hint}", quiet or "bold")
    if finding.culprit:
        text.append(f"\n{finding.id}: look first at {finding.culprit}", _QUIET)
    return text
