"""docs/cli.md has the table of misfortunes as the tests run them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_misfortunes_is_the_list_of_the_tests() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "misfortunes-table")]
    expected = subprocess.check_output(script, text=True)
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"\n{expected}\n" in page
