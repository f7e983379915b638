"""docs/errors.md is generated from the contract."""

import subprocess
import sys
from pathlib import Path

from tests.support.commands import environment_with

ROOT = Path(__file__).parents[2]


def test_the_errors_page_is_current(tmp_path):
    made = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "errors-page")],
        cwd=tmp_path,
        env=environment_with({}),
        check=True,
        timeout=60,
        capture_output=True,
    )

    assert made.stdout.decode() == (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    assert not list(tmp_path.iterdir())
