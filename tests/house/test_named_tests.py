"""The pages that guarantee something name test files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_FILE = re.compile(r"`((?:\w+/)*test_\w+\.py)`")


@pytest.mark.parametrize(
    "name", ["accounts", "limits", "logs", "operators", "requests", "single-sign-on"]
)
def test_every_test_that_a_page_names_exists(name):
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    named = set(_FILE.findall(page))
    tests = ROOT / "tests"
    known = {str(path.relative_to(tests)) for path in tests.rglob("test_*.py")}
    known |= {path.name for path in (tests / "cabinet").rglob("test_*.py")}
    assert named
    assert named - known == set()


def test_every_section_about_accounts_names_its_tests():
    page = (ROOT / "docs" / "accounts.md").read_text(encoding="utf-8")
    sections = page.split("\n## ")[1:]
    assert len(sections) >= 10
    assert [each.split("\n")[0] for each in sections if "*Tests: `" not in each] == []
