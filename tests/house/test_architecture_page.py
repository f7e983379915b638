"""docs/architecture.md lists every module of the product, as the module says."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "readback"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_tables_of_modules_are_current() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "module-table")]
    tables = subprocess.check_output(script, text=True).split("\n\n")
    assert len(tables) == 4
    for table in tables:
        expected = f"\n\n{table.strip()}\n\n"
        assert expected in PAGE, "run scripts/module-table --write"


def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([a-z_/]+\.py)`", PAGE))
    assert len(named) > 40
    missing = {
        name
        for name in named
        if not any((PACKAGE / part / name).is_file() for part in ("", "api", "cabinet"))
    }
    assert not missing
