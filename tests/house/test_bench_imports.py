"""Bench, soak and clients may use the helpers of the tests, but not the reverse."""

from pathlib import Path

import pytest

from tests.support.files import imports_of, python_files

ROOT = Path(__file__).parents[2]
# These run in environments of their own and import packages that are absent from ours.
PEERS = ROOT / "bench" / "peers"
DRIVERS = ROOT / "clients" / "drivers"


def importers(folder: str, package: str) -> dict[str, set[str]]:
    """Return what each file under a folder imports from a package."""
    found = {
        str(path.relative_to(ROOT)): {
            name for name in imports_of(path) if f"{name}.".startswith(f"{package}.")
        }
        for path in python_files(ROOT / folder)
        if not {PEERS, DRIVERS} & {*path.parents}
        # Most files do not even contain the name, and parsing one takes 3 ms.
        and package in path.read_text(encoding="utf-8")
    }
    return {path: names for path, names in found.items() if names}


def test_only_its_own_tests_import_the_benchmark() -> None:
    found = importers("tests", "bench")
    assert {path for path in found if not path.startswith("tests/bench/")} == set()
    assert importers("src", "bench") == {}


@pytest.mark.parametrize("package", ["clients", "soak"])
def test_only_its_own_tests_import_the_package(package: str) -> None:
    for folder in {"src", "bench", "clients", "soak"} - {package}:
        assert importers(folder, package) == {}
    found = importers("tests", package)
    assert {path for path in found if not path.startswith(f"tests/{package}/")} == set()


@pytest.mark.parametrize("folder", ["bench", "clients", "soak"])
def test_the_package_imports_only_the_support_package(folder: str) -> None:
    found = importers(folder, "tests")
    assert found, f"{folder} uses helpers of the tests"
    names = set().union(*found.values())
    others = {name for name in names if not name.startswith("tests.support.")}
    assert others == set()
