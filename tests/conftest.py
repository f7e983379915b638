"""Options and order of the whole test run.

Fixtures belong to the folder that uses them; code that several folders share is in
tests/support.
"""

from pathlib import Path

import pytest

_HERE = Path(__file__).parent
# Folders with files that take a minute, the longest first.
_LONG = ("journeys", "faults", "scale", "cabinet", "cli")

# So that a failing assertion in a helper shows its values.
pytest.register_assert_rewrite("tests.support")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("readback", "conformance of a running server")
    group.addoption("--base-url", help="its address, ending in /v1")
    group.addoption("--api-key", help="a key that it accepts")
    group.addoption("--revoked-key", help="one of its keys that is revoked")
    group.addoption("--expired-key", help="one of its keys that has expired")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the folders whose files take long, so that processes end together.

    Within a folder the order stays random.
    """
    rank = {folder: number for number, folder in enumerate(_LONG)}
    items.sort(key=lambda item: rank.get(_folder(item), len(_LONG)))


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(_HERE).parts[0]
