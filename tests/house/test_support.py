"""Helpers that several test folders use are in tests/support."""

from pathlib import Path

import pytest

from tests.support.files import imports_of, python_files

TESTS = Path(__file__).parents[1]
FOLDERS = sorted(path.name for path in TESTS.iterdir() if any(path.glob("*.py")))


def imported_folders(path: Path) -> set[str]:
    """Return the folders of tests/ from which a file imports."""
    modules = imports_of(path)
    return {module.split(".")[1] for module in modules if module.startswith("tests.")}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_only_from_itself_and_from_support(folder: str) -> None:
    for path in python_files(TESTS / folder):
        others = imported_folders(path) - {folder, "support"}
        assert not others, f"{path.relative_to(TESTS)} imports from {sorted(others)}"
