"""Tests that run once for each row of a table."""

from collections.abc import Mapping

import pytest


def each(names: str, table: Mapping[str, object]) -> pytest.MarkDecorator:
    """Run a test for each row of a table; the row's name is part of the test's id."""
    return pytest.mark.parametrize(names, table.values(), ids=table.keys())


def words(text: str) -> list[str]:
    """Return the words in a table that is written as one block of text."""
    return text.split()
