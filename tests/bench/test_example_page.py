"""The worked example shows what the command that it names prints."""

import re

from bench.__main__ import compute_fleet
from bench.paths import ROOT

PAGE = ROOT / "docs" / "example-kubernetes.md"


def test_the_table_of_the_example_is_what_the_command_prints() -> None:
    page = PAGE.read_text(encoding="utf-8")
    [rate, keys, workers] = re.search(
        r"--rate (\d+) --keys (\d+) --workers (\d+)", page
    ).groups()
    printed = compute_fleet(float(rate), float(keys), int(workers))

    rows = re.findall(r"^\| (?!what it prints|---).+\|$", page, re.M)
    assert len(rows) == 10
    for row in rows:
        assert row in printed
