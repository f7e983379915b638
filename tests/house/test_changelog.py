"""The newest heading of the changelog is the version of the package."""

import re
from pathlib import Path

import readback

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


def test_the_newest_version_in_the_changelog_is_the_version_of_the_package() -> None:
    text = CHANGELOG.read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", text, re.MULTILINE)

    assert versions[0] == readback.__version__
