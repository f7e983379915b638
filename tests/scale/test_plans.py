"""With many journal rows, the pages of a key read a few of them by an index.

The queries are those of the cabinet's own code; the databases explain their plans.
"""

import json
from typing import Any

import pytest

from readback import keys
from tests.support import migrated
from tests.support.commands import environment_with, run_readback
from tests.support.database import Database

# More rows than are shown, because old ones are deleted only from time to time. With
# this many keys, an index is worth using for both databases.
KEYS = 450
ROWS_PER_KEY = 240
HALF = KEYS * ROWS_PER_KEY // 2
FILL = f"""
INSERT INTO cabinet_journalentry (key_id, accepted, at, endpoint, status, code, detail,
    request_bytes, answer_bytes, user_agent, client_address, requests)
WITH RECURSIVE numbers(n) AS (
    SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {KEYS * ROWS_PER_KEY})
SELECT n - n / {KEYS} * {KEYS} + (SELECT min(id) FROM cabinet_key), n > {HALF},
    CURRENT_TIMESTAMP, 'chat', 200, '', '', 0, 0, 'Program', '', 1 FROM numbers
"""
# Filling a table without its indexes and creating them then takes half as long.
INDEXES = {
    True: "SELECT name, sql FROM sqlite_master WHERE type = 'index'"
    " AND tbl_name = 'cabinet_journalentry'",
    False: "SELECT indexname, indexdef FROM pg_indexes"
    " WHERE tablename = 'cabinet_journalentry' AND NOT indexname LIKE '%%_pkey'",
}
QUERIES = """
import json
from readback.cabinet.keys import selectors
from readback.cabinet.models import Key
key = Key.objects.order_by("id")[250]
queries = {
    "journal": selectors.journal_of(key),
    "keys": selectors.keys_with_requests_today(key.owner),
    "digest": Key.objects.filter(digest=key.digest),
}
print(json.dumps({n: [q.explain(), len(list(q))] for n, q in queries.items()}))
"""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def explained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The plan and the number of rows of each query, on a full database."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("full") / "readback.sqlite3"
        migrated.copy_to(path)
        url = f"sqlite:///{path}"
    else:
        url = request.getfixturevalue("postgresql").migrated_database()
    database = Database(url)
    account = database.add_account("alice@example.com")
    database.add_keys(account, [keys.mint() for _ in range(KEYS)])
    fill(database)
    explained: dict[str, Any] = json.loads(
        readback(url, "manage", "shell", "--verbosity", "0", "--command", QUERIES)
    )
    return explained


def fill(database: Database) -> None:
    indexes = database.rows(INDEXES[database.is_sqlite])
    names = sorted(name for name, _ in indexes)
    assert names == ["cabinet_journal_at", "cabinet_journal_last"]
    for name, _ in indexes:
        database.rows(f"DROP INDEX {name}")
    # Otherwise PostgreSQL checks the foreign key of every row.
    unchecked = "" if database.is_sqlite else "SET session_replication_role = replica;"
    database.rows(unchecked + FILL)
    for _, definition in indexes:
        database.rows(definition)
    database.rows("ANALYZE")


def readback(url: str, *command: str) -> str:
    settings = {"READBACK_DATABASE_URL": url, "READBACK_SECRET_KEY": "x" * 50}
    return run_readback(environment_with(settings), *command).stdout


SCANS = {
    "journal": ("SCAN cabinet_journalentry", "Seq Scan"),
    "keys": ("SCAN cabinet_usage",),
    "digest": ("SCAN cabinet_key", "Seq Scan"),
}


def test_the_pages_of_a_key_read_by_indexes(explained):
    for name, scans in SCANS.items():
        plan, _ = explained[name]
        assert not [scan for scan in scans if scan in plan], (name, plan)
    assert "cabinet_journal_last" in explained["journal"][0]
    rows = {name: found for name, (_, found) in explained.items()}
    assert rows == {"journal": 200, "keys": KEYS, "digest": 1}
