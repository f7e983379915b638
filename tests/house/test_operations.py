"""docs/monitoring.md and the files in deploy/ match the program."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from readback.config import Config, variable
from readback.processes import metrics

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "monitoring.md").read_text()
FILES = sorted(path for path in (ROOT / "deploy").rglob("*") if path.is_file())


def test_the_tables_of_metrics_match_the_program():
    tables = (metrics.BOTH_PLANES, metrics.API, metrics.CABINET)
    found = re.findall(r"^\| `readback_(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert found == [row for table in tables for row in table.items()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_in_deploy_exists(path):
    known = {variable(row) for row in fields(Config)}
    known |= {
        f"{variable(row)}_FILE" for row in fields(Config) if row.metadata["secret"]
    }
    named = set(re.findall(r"READBACK_[A-Z_]+[A-Z]", path.read_text()))
    assert named <= known
