"""The pages about the probe match its options, exit codes, diagnoses and scenarios."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pages_about_the_probe_are_up_to_date() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "probe-pages")]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, f"run scripts/probe-pages --write: {done.stdout}"
