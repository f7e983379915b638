"""The benchmark may use the helpers of the tests, but no test imports the benchmark."""

from pathlib import Path

from tests.support.files import imports_of, python_files

ROOT = Path(__file__).parents[2]
# These run in an environment of their own and import each other by file name.
PEERS = ROOT / "bench" / "peers"


def importers(folder: str, package: str) -> dict[str, set[str]]:
    """Return what each file under a folder imports from a package."""
    found = {
        str(path.relative_to(ROOT)): {
            name for name in imports_of(path) if f"{name}.".startswith(f"{package}.")
        }
        for path in python_files(ROOT / folder)
        if PEERS not in path.parents
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
