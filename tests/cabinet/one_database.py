"""A mark for a test that needs only one database, in a module that uses both."""

import pytest

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
