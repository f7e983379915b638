"""The code blocks in docs/, so that tests run what readers copy."""

import re
import subprocess
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^( *)```\w+\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def block(words: str) -> str:
    """Return the code block in the English pages with a line that begins with `words`.

    If several pages contain it, the blocks must be identical.
    """
    pages = [path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))]
    codes = [dedent(found[2]) for page in pages for found in _BLOCK.finditer(page)]
    found = {code for code in codes if f"\n{words}" in f"\n{code}"}
    assert len(found) == 1, f"{len(found)} code blocks have a line with {words!r}"
    return found.pop()


def sh(script: str, **options: Any) -> str:
    """Run a code block, by default in the repository; return what it prints."""
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        **{"cwd": ROOT, "timeout": 2 * PATIENCE, **options},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout
