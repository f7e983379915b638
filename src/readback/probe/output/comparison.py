"""A comparison of two addresses: its verdict first, then both reports in full."""

from __future__ import annotations

import json
from collections.abc import Callable

from readback.probe.common.results import Diagnosis, StepResult
from readback.probe.comparison import Comparison
from readback.probe.output import formats
from readback.probe.output.plain import cut
from readback.probe.report import ProbeReport


def as_json(comparison: Comparison) -> str:
    """Return one line of JSON: the comparison as a finding, and both reports."""
    result = StepResult("compare", "comparison", comparison.diagnosis)
    document = {
        "schema": formats.SCHEMA,
        "comparison": formats.finding(result),
        "reports": [formats.document(walk.report) for walk in comparison.walks],
    }
    return json.dumps(document)


def as_markdown(comparison: Comparison) -> str:
    diagnosis = comparison.diagnosis
    blocks = [
        "### Comparison of two addresses",
        f"**{formats.escape(diagnosis.sentence)}** (`{diagnosis.id}`)",
        f"Next step: {formats.escape(diagnosis.hint)}" if diagnosis.hint else "",
        "\n".join(f"- {formats.escape(line)}" for line in diagnosis.details),
        *(formats.as_markdown(walk.report) for walk in comparison.walks),
    ]
    return "\n\n".join(filter(None, blocks))


def as_short(comparison: Comparison) -> str:
    diagnosis = comparison.diagnosis
    walks = (f"{cut(one.url, 80)}: {one.report.sentence}" for one in comparison.walks)
    lines = [f"{cut(diagnosis.sentence, 200)} ({diagnosis.id})", *walks]
    return "\n".join(cut(line, 240) if n else line for n, line in enumerate(lines))


RENDERERS = {"json": as_json, "markdown": as_markdown, "short": as_short}


def show(comparison: Comparison, show_report: Callable[[ProbeReport], None]) -> None:
    """Print the verdict, then each report after its address."""
    print(_verdict(comparison.diagnosis), flush=True)
    for walk in comparison.walks:
        print(f"\n{walk.url}", flush=True)
        show_report(walk.report)


def _verdict(diagnosis: Diagnosis) -> str:
    hint = [f"Next step: {diagnosis.hint}"] if diagnosis.hint else []
    lines = [diagnosis.sentence, *hint, *diagnosis.details, f"[{diagnosis.id}]"]
    return "\n".join(lines)
