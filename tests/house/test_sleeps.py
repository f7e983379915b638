"""Tests wait for conditions; a page lists the few that need a fixed time."""

import ast
import re
from pathlib import Path

from tests.support.files import python_files

ROOT = Path(__file__).parents[2]
SECTION = re.compile(r"^## Fixed times in tests\n(.*?)(?=^## |\Z)", re.M | re.S)


def sleeps(tree: ast.AST, polling: bool = False) -> int:
    """Count fixed sleeps: neither sleep(0) nor the pause of a loop that polls."""
    found = 0
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("sleep"):
            found += not polling and ast.unparse(node.args[0]) != "0"
        found += sleeps(node, polling or isinstance(node, ast.While))
    return found


def test_every_file_that_sleeps_for_a_fixed_time_is_listed_with_a_reason() -> None:
    page = ROOT / "docs" / "architecture-tests.md"
    section = SECTION.search(page.read_text(encoding="utf-8"))
    assert section
    listed = set(re.findall(r"^\| `(tests/[^`]+\.py)` \| .+ \|$", section[1], re.M))

    sleeping = {
        str(path.relative_to(ROOT))
        for path in python_files(ROOT / "tests")
        if "sleep(" in (text := path.read_text(encoding="utf-8"))
        and sleeps(ast.parse(text))
    }
    assert sleeping == listed
