"""The databases that tests use, and marks for tests that differ from their module."""

import pytest

BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)]
"""`make test` runs the tests on SQLite, and `make long` also on PostgreSQL."""
ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ON_BOTH = pytest.mark.parametrize("database_url", BOTH, indirect=True)
