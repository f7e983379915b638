"""The list of promises about accounts names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"\| (\d+) \| .+ \| (`[^|]+`) \|")
_TEST = re.compile(r"`([\w/]+\.py)`: `(test_\w+)`")


def test_each_of_the_fifty_promises_names_its_tests():
    page = (ROOT / "docs" / "accounts.md").read_text(encoding="utf-8")
    rows = [(int(number), tests) for number, tests in _ROW.findall(page)]
    assert [number for number, _ in rows] == list(range(1, 51))
    for number, tests in rows:
        named = _TEST.findall(tests)
        assert named, number
        for file, test in named:
            text = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert f"def {test}(" in text, (number, file, test)
