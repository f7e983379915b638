"""Files, functions and excerpts on the architecture page match the source."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "readback"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def file_of(name: str) -> Path:
    """Return the file to which a name on the page refers."""
    places = [PACKAGE, PACKAGE / "api", PACKAGE / "cabinet", ROOT / "tests", ROOT]
    found = [place / name for place in places if (place / name).is_file()]
    assert found, f"{name} does not exist"
    return found[0]


def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([a-z_/]+\.(?:py|js))`", TEXT))
    assert len(named) > 25
    assert all(map(file_of, named))


def test_every_function_that_the_page_names_is_in_its_file() -> None:
    named = set(re.findall(r"`([a-z_/]+\.py)`:\s+`([A-Za-z_.]+)`", TEXT))
    assert len(named) > 25
    for file, name in named:
        text = file_of(file).read_text(encoding="utf-8")
        for part in name.split("."):
            assert re.search(rf"\b(?:def|class) {part}\b|^{part} =", text, re.M), (
                f"{file} has no {name}"
            )


def test_every_excerpt_is_in_a_file_that_its_step_names() -> None:
    excerpts = list(re.finditer(r"^```python\n(.*?)^```$", TEXT, re.M | re.S))
    assert 6 <= len(excerpts) <= 10
    for excerpt in excerpts:
        before = TEXT[: excerpt.start()].rpartition("\n**")[2]
        named = re.findall(r"`([a-z_/]+\.py)`", before)
        sources = [file_of(name).read_text(encoding="utf-8") for name in named]
        assert any(excerpt[1] in source for source in sources), excerpt[1]
