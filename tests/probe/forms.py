"""Every output format of a report, and the published schema of the JSON format."""

import json
from pathlib import Path

from jsonschema_rs import Draft202012Validator

from readback.probe.output import text
from readback.probe.output.text import as_page

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "probe-report.schema.json").read_text())
REPORT_SCHEMA = Draft202012Validator(SCHEMA, validate_formats=True)
FORMS = {
    "json": text.as_json,
    "short": text.as_short,
    "long": text.as_long,
    "page": as_page,
}
