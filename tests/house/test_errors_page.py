"""docs/errors.md says what the contract says."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_of_errors_is_what_the_contract_makes_of_it(tmp_path):
    (tmp_path / "docs").mkdir()
    outside = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    subprocess.run(
        [sys.executable, "-m", "readback.cabinet.errors_page"],
        cwd=tmp_path,
        env=outside | {"READBACK_DATA_DIR": str(tmp_path)},
        check=True,
        timeout=60,
    )

    made = (tmp_path / "docs" / "errors.md").read_text(encoding="utf-8")
    assert made == (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
