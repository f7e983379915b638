"""The pages about the probe match its options, exit codes, diagnoses and scenarios."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pages_about_the_probe_are_up_to_date() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "probe-pages")]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, f"run scripts/probe-pages --write: {done.stdout}"


def test_no_page_about_the_probe_is_too_long_to_read() -> None:
    sizes = {path: path.stat().st_size for path in (ROOT / "docs").glob("probe*.md")}
    assert len(sizes) == 4
    assert max(sizes.values()) < 60_000, sizes
