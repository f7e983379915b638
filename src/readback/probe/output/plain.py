"""The report as plain text: for a pipe or a log, or short for a chat message."""

from __future__ import annotations

from readback.probe.common.results import StepResult, Verdict
from readback.probe.report import ProbeReport, environment_summary

_INDENT = " " * 25
_SHORT_LENGTH = 600


def as_text(report: ProbeReport) -> str:
    lines = [*_summary(report), f"{report.effort}. {report.key_use}", ""]
    # Each hint is shown once; that of the verdict is above.
    hints = {report.next_step, ""}
    for result in report.tried:
        lines += _step(result, hints)
        hints.add(result.diagnosis.hint)
    if report.not_tried:
        lines.append(f"skip skipped             {', '.join(report.not_tried)}")
    return "\n".join(lines)


def as_short(report: ProbeReport) -> str:
    """Return a summary for a chat message, without anything secret."""
    versions = f"{report.id}; {cut(report.base_url, 80)}; {environment_summary()}"
    worked = f"Worked: {cut(', '.join(_worked(report)) or 'nothing', 120)}"
    sentence = cut(report.sentence, 170)
    lines = [sentence, *_summary(report)[1:], worked, cut(versions, 160)]
    excess = len("\n".join(lines)) - _SHORT_LENGTH
    if excess > 0:  # Only the next step is long.
        lines[-3] = cut(lines[-3], len(lines[-3]) - excess)
    return "\n".join(lines)


def _summary(report: ProbeReport) -> list[str]:
    """Return what is wrong, who can fix it and the next step."""
    if not report.decisive:
        return [report.sentence]
    return [
        report.sentence,
        f"Who can fix it: {report.fixer}",
        f"Next step: {report.next_step}",
    ]


def _worked(report: ProbeReport) -> list[str]:
    """Return the titles of the steps that worked, similar ones as one."""
    groups: dict[str, bool] = {}
    for result in report.results:
        name = result.title.partition(":")[0]
        works = result.diagnosis.verdict == Verdict.OK
        groups[name] = groups.get(name, True) and works
    return [name for name, works in groups.items() if works]


def _step(result: StepResult, shown_hints: set[str]) -> list[str]:
    diagnosis = result.diagnosis
    figure = f"{diagnosis.figure}: " if diagnosis.figure else ""
    lines = [f"{diagnosis.verdict:<5}{result.title:<20}{figure}{diagnosis.sentence}"]
    lines += [f"{_INDENT}{detail}" for detail in diagnosis.details]
    if diagnosis.hint:
        hint = "" if diagnosis.hint in shown_hints else f" {diagnosis.hint}"
        lines.append(f"{_INDENT}[{diagnosis.id}]{hint}")
    return lines


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
