"""Pages and source files are short, and the index has every page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEXES = [DOCS / "README.md", DOCS / "ru" / "README.md"]
# In characters, because a Cyrillic letter takes two bytes.
MAX_CHARACTERS = 16_500
MAX_LINES_OF_SOURCE = 400
# Tables that scripts write into pages.
GENERATED_PART = re.compile(
    r"\[//\]: # \((\w+): (?!end)[\w-]+\).*?\[//\]: # \(\1: end\)", re.S
)
ROW = re.compile(r"^\| \[[^]]+\]\((?:\.\./)?([a-z-]+\.md)\) \| (.+) \|$", re.M)


def test_no_page_is_too_long_to_read_in_one_go() -> None:
    lengths = {
        str(path.relative_to(DOCS)): len(GENERATED_PART.sub("", text))
        for path in DOCS.rglob("*.md")
        if (text := path.read_text(encoding="utf-8"))
    }

    assert len(lengths) > 20
    assert {name: n for name, n in lengths.items() if n > MAX_CHARACTERS} == {}


def test_no_python_file_of_the_source_is_too_long_to_read_in_one_go() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines())
        for path in (ROOT / "src").rglob("*.py")
        if path.parent.name != "migrations"  # Django writes them
    }

    assert lengths
    assert {n for n, lines in lengths.items() if lines > MAX_LINES_OF_SOURCE} == set()


@pytest.mark.parametrize("index", INDEXES, ids=["English", "Russian"])
def test_the_index_has_every_page_with_a_sentence(index: Path) -> None:
    rows = ROW.findall(index.read_text(encoding="utf-8"))
    pages = {path.name for path in DOCS.glob("*.md")} - {"README.md"}

    assert {name for name, _ in rows} == pages
    assert all(len(sentence.split()) > 2 for _, sentence in rows), rows
