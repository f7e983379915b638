"""docs/errors.md is generated from the contract."""

import subprocess
import sys
from pathlib import Path

from tests.support.commands import environment_with

ROOT = Path(__file__).parents[2]


def test_the_errors_page_is_current(tmp_path):
    (tmp_path / "docs").mkdir()
    subprocess.run(
        [sys.executable, "-m", "readback.cabinet.pages.errors_page"],
        cwd=tmp_path,
        env=environment_with({"READBACK_DATA_DIR": str(tmp_path)}),
        check=True,
        timeout=60,
    )

    made = (tmp_path / "docs" / "errors.md").read_text(encoding="utf-8")
    assert made == (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
