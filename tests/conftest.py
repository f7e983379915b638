"""Options of the whole test run.

Only options live here: fixtures belong to the folder that uses them, and what
several folders share is plain code in tests/support.
"""

import pytest

# So that a failing assertion in a helper shows its values.
pytest.register_assert_rewrite("tests.support")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("readback", "conformance of a server that already runs")
    group.addoption("--base-url", help="its address, ending in /v1")
    group.addoption("--api-key", help="a key that it accepts")
    group.addoption("--revoked-key", help="a key of it that was revoked")
    group.addoption("--expired-key", help="a key of it that is past its expiry")
