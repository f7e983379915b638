"""Options of the whole test run.

Fixtures belong to the folder that uses them; code that several folders share is in
tests/support.
"""

import pytest

# So that a failing assertion in a helper shows its values.
pytest.register_assert_rewrite("tests.support")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("readback", "conformance of a running server")
    group.addoption("--base-url", help="its address, ending in /v1")
    group.addoption("--api-key", help="a key that it accepts")
    group.addoption("--revoked-key", help="one of its keys that is revoked")
    group.addoption("--expired-key", help="one of its keys that has expired")
