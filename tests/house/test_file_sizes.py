"""A source file is short enough to be read in one sitting."""

from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
MAX_LINES = 400


def test_no_python_file_of_the_source_has_more_than_400_lines() -> None:
    lengths = {
        str(path.relative_to(SOURCE)): len(path.read_text("utf-8").splitlines())
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "migrations"  # Django writes them
    }

    assert lengths
    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}
