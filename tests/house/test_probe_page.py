"""The table of scenarios in docs/cli.md matches the scenarios that the tests run."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_on_the_page_matches_the_scenarios() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "probe-scenarios")]
    expected = subprocess.check_output(script, text=True)
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"\n{expected}\n" in page
