"""docs/architecture-tests.md lists for every module the tests that cover it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "readback"
SECTION = re.compile(r"^## Where a module is tested\n(.*?)(?=^## |\Z)", re.M | re.S)


def table() -> dict[str, list[str]]:
    page = ROOT / "docs" / "architecture-tests.md"
    section = SECTION.search(page.read_text(encoding="utf-8"))
    assert section
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", section[1], re.M)
    assert len(rows) == len(dict(rows)), "a module has two rows"
    return {module: re.findall(r"`([^`]+)`", tests) for module, tests in rows}


def modules() -> set[str]:
    rooms = (PACKAGE / "api", PACKAGE / "processes")
    paths = [path for room in rooms for path in room.rglob("*.py")]
    paths += PACKAGE.glob("*.py")
    named = {path for path in paths if not path.name.startswith("__")}
    files = {str(path.relative_to(PACKAGE)) for path in named}
    return files | {"cabinet/", "cli/", "probe/", "pytest_plugin/"}


def test_every_module_has_a_row() -> None:
    assert set(table()) == modules()


def test_every_row_names_existing_tests_and_the_unit_test_of_its_module() -> None:
    for module, tests in table().items():
        assert tests, module
        assert not [name for name in tests if not (ROOT / "tests" / name).exists()]
        path = Path(module)
        mirror = Path("unit") / path.parent / f"test_{path.name}"
        if (ROOT / "tests" / mirror).is_file():
            assert str(mirror) in tests, module
