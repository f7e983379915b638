"""Every form of a report, and the published schema of its JSON form."""

import json
import re
from io import StringIO
from pathlib import Path

from jsonschema_rs import Draft202012Validator
from rich.console import Console

from readback.probe.output import formats, terminal
from readback.probe.report import ProbeReport

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "probe-report.schema.json").read_text())
REPORT_SCHEMA = Draft202012Validator(SCHEMA, validate_formats=True)


def in_terminal(report: ProbeReport, width: int = 100) -> str:
    output = StringIO()
    terminal.show(report, Console(file=output, width=width, force_terminal=True))
    return re.sub(r"\x1b\[[0-9;]*m", "", output.getvalue())


FORMS = {
    "json": formats.as_json,
    "markdown": formats.as_markdown,
    "short": formats.as_short,
    "text": formats.as_text,
    "terminal": in_terminal,
}
QUICK_FORMS = {name: form for name, form in FORMS.items() if form is not in_terminal}
"""Those that take less than a millisecond; the terminal's takes ten."""
