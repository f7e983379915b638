"""One `readback` program per test, with free ports and its own folder."""

from pathlib import Path

import pytest

from tests.cli.program import Program, local_settings
from tests.support import migrated as migrated_databases

ALICE = "alice@example.org"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path, local_settings(tmp_path))


@pytest.fixture
def migrated(program: Program) -> Program:
    """The program with a migrated SQLite database."""
    migrated_databases.provide(program.settings)
    return program


@pytest.fixture
def with_alice(migrated: Program) -> Program:
    """The program with a migrated SQLite database, and an account in it."""
    migrated.database.add_account(ALICE)
    return migrated


@pytest.fixture(params=["sqlite", "postgresql"])
def on_each_database(request: pytest.FixtureRequest, program: Program) -> Program:
    """Return the program with an empty database, once for each kind of database."""
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
        program.settings["READBACK_DATABASE_URL"] = server.new_database()
    return program


@pytest.fixture(params=["sqlite", "postgresql"])
def migrated_on_each_database(
    request: pytest.FixtureRequest, program: Program
) -> Program:
    """Return the program with a migrated database, once for each kind of database."""
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
        program.settings["READBACK_DATABASE_URL"] = server.migrated_database()
    migrated_databases.provide(program.settings)
    return program
