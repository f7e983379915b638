"""The report as JSON, for programs. It is always in English."""

from __future__ import annotations

import json
import platform

from readback import __version__
from readback.probe.common.results import Fixer, StepResult
from readback.probe.report import ProbeReport, openssl_version

# docs/probe-report.schema.json describes the report, docs/probe.md what may change in
# it without a new number.
SCHEMA = 2


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
        "family": report.family.name.lower(),
        "exit_code": report.family,
        "sentence": report.sentence,
        "fixer": _fixer(report.fixer),
        "next_step": report.next_step,
        "message": report.message,
        "interrupted": report.interrupted.step if report.interrupted else None,
        "base_url": report.base_url,
        "base_url_from": report.url_source or None,
        "key": report.key,
        "key_sent_to": report.key_sent_to,
        "service": report.service,
        "started": f"{report.started:%Y-%m-%dT%H:%M:%SZ}",
        "seconds": round(report.seconds, 3),
        "requests": report.requests,
        "probe": {
            "version": __version__,
            "python": platform.python_version(),
            "openssl": openssl_version(),
            "platform": f"{platform.system()} {platform.machine()}",
        },
        "findings": [_finding(result) for result in report.results],
    }


def _finding(result: StepResult) -> dict[str, object]:
    diagnosis = result.diagnosis
    return {
        "step": result.step,
        "title": result.title,
        "id": diagnosis.id,
        "verdict": diagnosis.verdict,
        "fixer": _fixer(diagnosis.fixer),
        "sentence": diagnosis.sentence,
        "hint": diagnosis.hint,
        "figure": diagnosis.figure,
        "details": list(diagnosis.details),
        "facts": dict(diagnosis.facts),
    }


def _fixer(fixer: Fixer) -> str | None:
    return fixer.name.lower() if fixer else None
