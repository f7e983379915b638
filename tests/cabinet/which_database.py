"""Marks for a test that needs other databases than the rest of its module."""

import pytest

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ON_BOTH = pytest.mark.parametrize(
    "database_url", ["sqlite", "postgresql"], indirect=True
)
