"""The report in a terminal: the verdict, then one row per step."""

from __future__ import annotations

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from readback.probe.common.results import Diagnosis, StepResult, Verdict
from readback.probe.language import say
from readback.probe.output.formats import look_first, message_title, seen_at
from readback.probe.report import ProbeReport

_MARKS = {
    Verdict.OK: ("✓", "green"),
    Verdict.WARN: ("!", "yellow"),
    Verdict.FAIL: ("✗", "red"),
    Verdict.SKIP: ("–", "bright_black"),
}
_QUIET = "bright_black"
# Longer lines are hard to read; in a narrower terminal, the columns do not fit.
_MAX_WIDTH = 110
_MIN_WIDTH_OF_TABLE = 72
_TITLE_WIDTH = 18


def show(report: ProbeReport, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    console.width = max(20, min(console.width, _MAX_WIDTH))
    row = _table_row if console.width >= _MIN_WIDTH_OF_TABLE else _narrow_row
    console.print(_verdict(report))
    console.print()
    # Each hint is shown once; that of the verdict is above.
    hints = {report.hint, ""}
    for result, also in report.findings:
        console.print(row(result.title, result.diagnosis, _text(result, hints, also)))
        hints.add(result.diagnosis.hint)
    if report.not_tried:
        titles = Text(", ".join(report.not_tried), _QUIET)
        # All of them have the same diagnosis.
        skipped = (one for one in report.results if one.title in report.not_tried)
        console.print(row(say("skipped"), next(skipped).diagnosis, titles))
    if report.message:
        lines = "\n".join(report.message)
        console.print(Text(f"\n{message_title(report)}", _QUIET))
        console.print(Padding(Text(lines), (0, 0, 0, 5)))


def _verdict(report: ProbeReport) -> Table:
    mark, color = _MARKS[report.verdict]
    text = Text()
    text.append(report.sentence, f"bold {color}")
    if report.decisive:
        text.append("\n" + say("Who can fix it: {fixer}", fixer=""), _QUIET)
        text.append(say(str(report.fixer)))
        text.append("\n" + say("Next step: {step}", step=""), _QUIET)
        text.append(report.next_step, "bold")
        text.append(f"\n{report.id}. ", _QUIET)
    else:
        text.append("\n")
    text.append(f"{report.effort}. {report.key_use}", _QUIET)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=3)
    table.add_column(overflow="fold")
    table.add_row(Text(f"  {mark}", f"bold {color}"), text)
    return table


def _table_row(title: str, diagnosis: Diagnosis, text: Text) -> Table:
    mark, color = _MARKS[diagnosis.verdict]
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=3)
    table.add_column(width=_TITLE_WIDTH)
    table.add_column(width=7, justify="right")
    table.add_column(overflow="fold")
    table.add_row(
        Text(f"  {mark}", color),
        Text(title, _style(diagnosis)),
        Text(say(diagnosis.figure)),
        text,
    )
    return table


def _narrow_row(title: str, diagnosis: Diagnosis, text: Text) -> Group:
    mark, color = _MARKS[diagnosis.verdict]
    head = Text()
    head.append(f"  {mark}  ", color)
    head.append(f"{title}  {say(diagnosis.figure)}".rstrip(), _style(diagnosis))
    return Group(head, Padding(text, (0, 0, 0, 5)))


def _text(result: StepResult, shown_hints: set[str], also: list[str]) -> Text:
    diagnosis = result.diagnosis
    text = Text(diagnosis.sentence, _style(diagnosis))
    for detail in filter(None, (*diagnosis.details, seen_at(also))):
        text.append(f"\n{detail}", _QUIET)
    if diagnosis.hint not in shown_hints:
        text.append(f"\n→ {diagnosis.hint}", _style(diagnosis) or "bold")
    if diagnosis.culprit:
        text.append(f"\n{diagnosis.id}. {look_first(diagnosis)}", _QUIET)
    return text


def _style(diagnosis: Diagnosis) -> str:
    return _QUIET if diagnosis.verdict == Verdict.SKIP else ""
