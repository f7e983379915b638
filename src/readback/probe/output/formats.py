"""Renders a report as JSON for programs or as Markdown for a ticket."""

from __future__ import annotations

import json
import platform

from readback import __version__
from readback.probe.common.results import Diagnosis, Fixer, StepResult, Verdict
from readback.probe.report import ProbeReport, environment_summary, openssl_version

# docs/probe-report.schema.json describes the report, docs/probe.md what may change in
# it without a new number.
SCHEMA = 1


def as_json(report: ProbeReport) -> str:
    """Return the report as one line of JSON."""
    # ASCII survives every console and locale.
    return json.dumps(document(report))


def document(report: ProbeReport) -> dict[str, object]:
    """Return the report with the facts behind the sentences."""
    return {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "id": report.id,
        "family": report.family.label,
        "exit_code": report.family,
        "sentence": report.sentence,
        "fixer": _fixer(report.fixer),
        "next_step": report.next_step,
        "interrupted": report.interrupted.step if report.interrupted else None,
        "base_url": report.base_url,
        "key": report.key,
        "key_sent_to": report.key_sent_to,
        "service": report.service,
        "endpoint_name": report.endpoint_name,
        "started": f"{report.started:%Y-%m-%dT%H:%M:%SZ}",
        "seconds": round(report.seconds, 3),
        "requests": report.requests,
        "probe": _probe(),
        "findings": [finding(result) for result in report.results],
    }


def as_markdown(report: ProbeReport) -> str:
    rows = [_row(result) for result in report.tried]
    if report.not_tried:
        rows.append(f"| skip | skipped | | {', '.join(report.not_tried)} |")
    # Several steps may have the same diagnosis; the hint of the verdict is on top.
    hints = dict.fromkeys(
        _advice(result.diagnosis)
        for result in report.results
        if result.diagnosis.hint not in ("", report.next_step)
    )
    blocks = [
        f"### Probe of {escape(report.base_url)}",
        f"**{escape(report.sentence)}**",
        *_what_to_do(report),
        "\n".join(["| | step | figure | result |", "| --- | --- | --: | --- |", *rows]),
        "\n".join(hints),
        f"{report.started:%Y-%m-%d %H:%M:%SZ}, {report.effort}. {report.key_use} "
        f"{environment_summary()}.",
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _what_to_do(report: ProbeReport) -> list[str]:
    if not report.decisive:
        return []
    return [
        f"Who can fix it: {report.fixer} (`{report.id}`)\\\n"
        f"Next step: {escape(report.next_step)}"
    ]


def _probe() -> dict[str, str]:
    return {
        "version": __version__,
        "python": platform.python_version(),
        "openssl": openssl_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def finding(result: StepResult) -> dict[str, object]:
    diagnosis = result.diagnosis
    return {
        "step": result.step,
        "title": result.title,
        "id": diagnosis.id,
        "verdict": diagnosis.verdict,
        "fixer": _fixer(diagnosis.culprit.fixer),
        "culprit": diagnosis.culprit,
        "sentence": diagnosis.sentence,
        "hint": diagnosis.hint,
        "figure": diagnosis.figure,
        "details": list(diagnosis.details),
        "facts": dict(diagnosis.facts),
    }


def _fixer(fixer: Fixer) -> str | None:
    return fixer.name.lower() if fixer else None


def _row(result: StepResult) -> str:
    diagnosis = result.diagnosis
    strong = "**" if diagnosis.verdict in (Verdict.FAIL, Verdict.WARN) else ""
    cells = (
        f"{strong}{diagnosis.verdict}{strong}",
        result.title,
        diagnosis.figure,
        escape(f"{diagnosis.sentence} {_join_lines(diagnosis.details)}".strip()),
    )
    return f"| {' | '.join(cells)} |"


def _advice(diagnosis: Diagnosis) -> str:
    where = f" Look first at {diagnosis.culprit}." if diagnosis.culprit else ""
    return f"- `{diagnosis.id}`: {escape(diagnosis.hint)}{where}"


def _join_lines(details: tuple[str, ...]) -> str:
    return "; ".join(" ".join(line.split()) for line in details)


def escape(text: str) -> str:
    """Escape Markdown, so that untrusted text cannot become markup."""
    for character in "\\`*_[]<>|#":
        text = text.replace(character, f"\\{character}")
    return text
