"""What docs/ contains of the contract, the programs and the probe is up to date."""

import subprocess
import sys
from pathlib import Path

from tests.support.commands import environment_with

ROOT = Path(__file__).parents[2]


def test_the_pages_with_tables_of_the_code_are_current(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "pages")],
        cwd=tmp_path,
        env=environment_with({}),
        timeout=60,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, f"run scripts/pages --write: {done.stdout}"
    assert not list(tmp_path.iterdir())
