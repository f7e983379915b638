"""The pages of the architecture name modules and functions that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "readback"
PAGES = sorted((ROOT / "docs").glob("architecture*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def file_of(name: str) -> Path:
    """Return the file that a page means: in src/readback or a plane there, or tests."""
    places = [PACKAGE, PACKAGE / "api", PACKAGE / "cabinet", ROOT / "tests", ROOT]
    found = [place / name for place in places if (place / name).is_file()]
    assert found, f"{name} does not exist"
    return found[0]


def test_every_file_that_the_pages_name_exists() -> None:
    named = set(re.findall(r"`([a-z_/]+\.(?:py|js))`", TEXT))
    assert len(named) > 25
    assert all(map(file_of, named))


def test_every_function_that_the_pages_name_is_in_its_file() -> None:
    named = set(re.findall(r"`([a-z_/]+\.py)`:\s+`([A-Za-z_.]+)`", TEXT))
    assert len(named) > 25
    for file, name in named:
        text = file_of(file).read_text(encoding="utf-8")
        for part in name.split("."):
            assert re.search(rf"\b(?:def|class) {part}\b|^{part} =", text, re.M), (
                f"{file} has no {name}"
            )
