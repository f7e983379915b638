"""Nothing tells people to install `readback` from a package index by its name.

The name belongs to somebody else's package there, and people give the probe a key.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BY_NAME = re.compile(r"\b(pipx?|uvx?)\b[^\n`]* (install|run) [^\n`]*\breadback\b(?!/)")
FOLDERS = ("docs", "src", "deploy", "scripts")
BINARY = {".png", ".mo", ".pyc"}


def test_no_file_installs_readback_by_its_name() -> None:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
    texts = [path for path in paths if path.is_file() and path.suffix not in BINARY]
    found = {
        str(path.relative_to(ROOT)): match[0]
        for path in [*ROOT.glob("*.md"), *texts]
        for match in BY_NAME.finditer(path.read_text(encoding="utf-8"))
        if "install ." not in match[0]
    }
    assert len(texts) > 200
    assert found == {}
