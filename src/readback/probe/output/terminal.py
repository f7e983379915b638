"""The checklist in a terminal: it grows line by line, the step at work last.

Lines that are done are ordinary output, so that they can be scrolled and copied.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from readback.probe.findings import Finding, Verdict
from readback.probe.report import Line, Report
from readback.probe.wording import milliseconds

_MARKS = {
    Verdict.OK: ("✓", "green"),
    Verdict.WARN: ("!", "yellow"),
    Verdict.FAIL: ("✗", "red"),
    Verdict.SKIP: ("–", "bright_black"),
}
_TITLE_WIDTH = 18
_FIGURE_WIDTH = 7
_INDENT = 2 + 2 + _TITLE_WIDTH + 2 + _FIGURE_WIDTH + 2


class Terminal:
    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)

    @contextmanager
    def at_work(self, title: str) -> Iterator[None]:
        """Show which step is being made, and nothing of it afterwards."""
        with self._console.status(Text(title), spinner="dots", spinner_style="cyan"):
            yield

    def show(self, line: Line) -> None:
        self._console.print(_row(line))
        for text, style in _advice(line.finding):
            self._console.print(Padding(Text(text, style=style), (0, 0, 0, _INDENT)))

    def end(self, report: Report) -> None:
        mark, colour = _MARKS[report.verdict]
        sent = f"{report.requests} requests in {milliseconds(report.seconds)}"
        self._console.print()
        self._console.print(Text(f"    {sent}", "bright_black"))
        verdict = Text(f"{mark} {report.sentence}", f"bold {colour}")
        self._console.print(Padding(verdict, (0, 0, 0, 2)))


def _row(line: Line) -> Table:
    mark, colour = _MARKS[line.finding.verdict]
    quiet = "bright_black" if line.finding.verdict == Verdict.SKIP else ""
    table = Table.grid(padding=(0, 2, 0, 0), expand=False)
    table.add_column(width=3)
    table.add_column(width=_TITLE_WIDTH)
    table.add_column(width=_FIGURE_WIDTH, justify="right")
    table.add_column(overflow="fold")
    table.add_row(
        Text(f"  {mark}", colour),
        Text(line.title, quiet),
        Text(line.finding.figure),
        Text(line.finding.sentence, quiet),
    )
    return table


def _advice(finding: Finding) -> Iterator[tuple[str, str]]:
    if finding.hint:
        yield f"→ {finding.hint}", "" if finding.culprit else "bright_black"
    if finding.culprit:
        yield f"  {finding.id}; look first at {finding.culprit}", "bright_black"
