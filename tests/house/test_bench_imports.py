"""The benchmark and the soak may use the helpers of the tests, but not the reverse."""

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


def test_only_its_own_tests_import_the_soak() -> None:
    assert importers("src", "soak") == {}
    assert importers("bench", "soak") == {}
    found = importers("tests", "soak")
    assert {path for path in found if not path.startswith("tests/soak/")} == set()


def test_the_benchmark_and_the_soak_import_only_the_support_package() -> None:
    for folder in ("bench", "soak"):
        found = importers(folder, "tests")
        assert found, f"{folder} uses helpers of the tests"
        names = set().union(*found.values())
        others = {name for name in names if not name.startswith("tests.support.")}
        assert others == set()
