"""The benchmark may use the helpers of the tests, but no test imports the benchmark."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
# These run in an environment of their own and import each other by file name.
PEERS = ROOT / "bench" / "peers"


def imports_of(path: Path) -> set[str]:
    """Return the absolute names of all modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports by a relative path"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def importers(folder: str, package: str) -> dict[str, set[str]]:
    """Return what each file under a folder imports from a package."""
    found = {
        str(path.relative_to(ROOT)): {
            name for name in imports_of(path) if f"{name}.".startswith(f"{package}.")
        }
        for path in (ROOT / folder).rglob("*.py")
        # Some tests install clients into a `.venv` of their own.
        if PEERS not in path.parents and ".venv" not in path.parts
    }
    return {path: names for path, names in found.items() if names}


def test_no_test_and_no_part_of_the_product_imports_the_benchmark() -> None:
    assert importers("tests", "bench") == {}
    assert importers("src", "bench") == {}


def test_the_benchmark_imports_only_the_support_package_of_the_tests() -> None:
    found = importers("bench", "tests")
    assert found, "the benchmark uses helpers of the tests"
    names = set().union(*found.values())
    assert {name for name in names if not name.startswith("tests.support.")} == set()
