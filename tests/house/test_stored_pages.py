"""The parts of docs/ about the contract, the programs and the probe are up to date."""

import re
import subprocess
import sys
from pathlib import Path

from readback.probe.common.results import FailureFamily
from tests.support.commands import environment_with

ROOT = Path(__file__).parents[2]


def test_the_pages_with_tables_of_the_code_are_current(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "pages")],
        cwd=tmp_path,
        env=environment_with({}),
        timeout=300,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, f"run scripts/pages --write: {done.stdout}"
    assert not list(tmp_path.iterdir())


def test_the_page_of_the_probe_has_a_row_for_each_exit_code():
    page = (ROOT / "docs" / "probe.md").read_text(encoding="utf-8")
    table = page.partition("| code | meaning |")[2].partition("\n\n")[0]
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)]
    assert codes == [family.value for family in FailureFamily]
