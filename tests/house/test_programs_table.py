"""docs/programs.md lists every program of programs.toml, in both languages."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "page, language", [("programs.md", "en"), ("ru/programs.md", "ru")]
)
def test_the_table_of_programs_is_current(page: str, language: str) -> None:
    script = [sys.executable, str(ROOT / "scripts" / "programs-table"), language]
    expected = subprocess.check_output(script, text=True)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert f"\n{expected}\n" in text, "run scripts/programs-table --write"
