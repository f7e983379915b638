"""Renders a report as JSON for programs or as Markdown for a ticket."""

from __future__ import annotations

import json

from readback import __version__
from readback.probe.report import ProbeReport, environment_summary
from readback.probe.results import Diagnosis, StepResult, Verdict


def as_json(report: ProbeReport) -> str:
    """Return the report as one line of JSON, with the facts behind the sentences."""
    document = {
        "verdict": report.verdict,
        "id": report.id,
        "family": report.family.label,
        "exit_code": report.family,
        "sentence": report.sentence,
        "base_url": report.base_url,
        "key": report.key,
        "key_sent_to": report.key_sent_to,
        "service": report.service,
        "endpoint": report.endpoint_name,
        "started": f"{report.started:%Y-%m-%dT%H:%M:%SZ}",
        "seconds": round(report.seconds, 3),
        "requests": report.requests,
        "version": __version__,
        "steps": [_step(result) for result in report.results],
    }
    return json.dumps(document, ensure_ascii=False)


def as_markdown(report: ProbeReport) -> str:
    rows = "\n".join(_row(result) for result in report.tried)
    if report.not_tried:
        rows += f"\n| skip | skipped | | {', '.join(report.not_tried)} |"
    # Several steps may have the same diagnosis.
    hints = dict.fromkeys(
        _advice(result.diagnosis) for result in report.results if result.diagnosis.hint
    )
    advice = "\n".join(hints)
    return (
        f"### Probe of {report.base_url}\n\n"
        f"**{_escape(report.sentence)}**\n\n"
        "| | step | figure | result |\n| --- | --- | --: | --- |\n"
        f"{rows}\n\n"
        f"{advice + chr(10) * 2 if advice else ''}"
        f"{report.started:%Y-%m-%d %H:%M:%SZ}, {report.effort}, "
        f"key `{report.key}`, sent to: {report.key_sent_to}; {environment_summary()}\n"
    )


def _step(result: StepResult) -> dict[str, object]:
    diagnosis = result.diagnosis
    return {
        "step": result.step,
        "id": diagnosis.id,
        "verdict": diagnosis.verdict,
        "figure": diagnosis.figure,
        "sentence": diagnosis.sentence,
        "culprit": diagnosis.culprit,
        "hint": diagnosis.hint,
        "details": list(diagnosis.details),
        "facts": dict(diagnosis.facts),
    }


def _row(result: StepResult) -> str:
    diagnosis = result.diagnosis
    strong = "**" if diagnosis.verdict in (Verdict.FAIL, Verdict.WARN) else ""
    cells = (
        f"{strong}{diagnosis.verdict}{strong}",
        result.title,
        diagnosis.figure,
        _escape(f"{diagnosis.sentence} {_join_lines(diagnosis.details)}".strip()),
    )
    return f"| {' | '.join(cells)} |"


def _advice(diagnosis: Diagnosis) -> str:
    where = f" Look first at {diagnosis.culprit}." if diagnosis.culprit else ""
    return f"- `{diagnosis.id}`: {_escape(diagnosis.hint)}{where}"


def _join_lines(details: tuple[str, ...]) -> str:
    return "; ".join(" ".join(line.split()) for line in details)


def _escape(text: str) -> str:
    """Escape Markdown, so that untrusted text cannot become markup."""
    for character in "\\`*_[]<>|#":
        text = text.replace(character, f"\\{character}")
    return text
