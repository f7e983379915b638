"""Tests and tools import only themselves and the helpers in tests/support."""

from pathlib import Path

import pytest

from tests.support.files import imports_of, python_files

ROOT = Path(__file__).parents[2]
# Each has a folder of tests, and no other tests import it.
TOOLS = {"bench": {"bench"}, "clients": {"clients", "bench"}, "soak": {"soak", "bench"}}
FOLDERS = [path.name for path in (ROOT / "tests").iterdir() if any(path.glob("*.py"))]
ALLOWED = TOOLS | {f"tests/{name}": {f"tests.{name}", name} for name in sorted(FOLDERS)}


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_folder_imports_only_itself_and_the_helpers(folder: str) -> None:
    allowed = {f"{name}." for name in ALLOWED[folder] | {"tests.support"}}
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in python_files(ROOT / folder)
        for name in imports_of(path)
        if name.split(".")[0] in {"tests", *TOOLS}
        if not f"{name}.".startswith(tuple(allowed))
    }
    assert not wrong
