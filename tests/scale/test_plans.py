"""A key's pages use an index, however long its journal is.

The tests ask both databases how they would run the cabinet's queries.
"""

import json
from pathlib import Path

import pytest

from readback import keys
from tests.support import migrated
from tests.support.commands import environment_with, run_readback
from tests.support.database import Database

# PostgreSQL would not use an index on tables that are almost empty.
QUERIES = """
import json
from django.db import connection
from readback.cabinet.keys import selectors
from readback.cabinet.models import Key
if connection.vendor == "postgresql":
    connection.cursor().execute("SET enable_seqscan = off")
key = Key.objects.get()
queries = {
    "journal": selectors.journal_of(key),
    "digest": Key.objects.filter(digest=key.digest),
}
print(json.dumps({name: query.explain() for name, query in queries.items()}))
"""
# Signs that a plan reads a whole table.
SCANS = {
    "journal": ("SCAN cabinet_journalentry", "Seq Scan"),
    "digest": ("SCAN cabinet_key", "Seq Scan"),
}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_pages_of_a_key_read_by_indexes(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "sqlite":
        migrated.copy_to(tmp_path / "readback.sqlite3")
        url = f"sqlite:///{tmp_path}/readback.sqlite3"
    else:
        url = request.getfixturevalue("postgresql").migrated_database()
    database = Database(url)
    database.add_keys(database.add_account("alice@example.com"), [keys.mint()])
    settings = {"READBACK_DATABASE_URL": url, "READBACK_SECRET_KEY": "x" * 50}
    shell = ("manage", "shell", "--verbosity", "0", "--command", QUERIES)

    plans = json.loads(run_readback(environment_with(settings), *shell).stdout)

    for name, scans in SCANS.items():
        assert not [scan for scan in scans if scan in plans[name]], (name, plans[name])
    assert "cabinet_journal_last" in plans["journal"]
