"""A finished walk as text: JSON for programs, Markdown for a ticket."""

import json

from readback import __version__
from readback.probe.findings import Verdict
from readback.probe.report import Line, Report, surroundings


def as_json(report: Report) -> str:
    """Write the report as one line, with the facts behind the sentences."""
    document = {
        "verdict": report.verdict,
        "id": report.id,
        "family": report.family.word,
        "exit_code": report.family,
        "sentence": report.sentence,
        "base_url": report.base_url,
        "key": report.key,
        "started": f"{report.started:%Y-%m-%dT%H:%M:%SZ}",
        "seconds": round(report.seconds, 3),
        "requests": report.requests,
        "version": __version__,
        "steps": [_step(line) for line in report.lines],
    }
    return json.dumps(document, ensure_ascii=False)


def as_markdown(report: Report) -> str:
    rows = "\n".join(_row(line) for line in report.tried)
    if report.not_tried:
        rows += f"\n| skip | not tried | | {', '.join(report.not_tried)} |"
    advice = "\n".join(_advice(line) for line in report.lines if line.finding.hint)
    return (
        f"### Probe of {report.base_url}\n\n"
        f"**{_escaped(report.sentence)}**\n\n"
        "| | step | figure | found |\n| --- | --- | --: | --- |\n"
        f"{rows}\n\n"
        f"{advice + chr(10) * 2 if advice else ''}"
        f"{report.started:%Y-%m-%d %H:%M:%SZ}, {report.effort}, "
        f"key `{report.key}`; {surroundings()}\n"
    )


def _step(line: Line) -> dict[str, object]:
    finding = line.finding
    return {
        "step": line.step,
        "id": finding.id,
        "verdict": finding.verdict,
        "figure": finding.figure,
        "sentence": finding.sentence,
        "culprit": finding.culprit,
        "hint": finding.hint,
        "details": list(finding.details),
        "facts": dict(finding.facts),
    }


def _row(line: Line) -> str:
    finding = line.finding
    strong = "**" if finding.verdict in (Verdict.FAIL, Verdict.WARN) else ""
    cells = (
        f"{strong}{finding.verdict}{strong}",
        line.title,
        finding.figure,
        _escaped(f"{finding.sentence} {_in_one_line(finding.details)}".strip()),
    )
    return f"| {' | '.join(cells)} |"


def _advice(line: Line) -> str:
    finding = line.finding
    where = f" Look first at {finding.culprit}." if finding.culprit else ""
    return f"- `{finding.id}`: {_escaped(finding.hint)}{where}"


def _in_one_line(details: tuple[str, ...]) -> str:
    return "; ".join(" ".join(line.split()) for line in details)


def _escaped(text: str) -> str:
    """Keep a stranger's text from becoming markup."""
    for character in "\\`*_[]<>|#":
        text = text.replace(character, f"\\{character}")
    return text
