"""With a million rows of journal, the pages of a key read a few rows by an index.

The questions are the cabinet's own, asked by its own code; the plans the databases'.
"""

import json
from typing import Any

import pytest

from readback import keys
from tests.support.commands import environment_with, run_readback
from tests.support.database import Database

# More rows than are shown: older ones are deleted only now and then.
KEYS, ROWS_PER_KEY = 4500, 240
HALF = KEYS * ROWS_PER_KEY // 2
FILL = f"""
INSERT INTO cabinet_journalentry (key_id, accepted, at, endpoint, status, code, detail,
    request_bytes, answer_bytes, user_agent, client_address, requests)
WITH RECURSIVE numbers(n) AS (
    SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {KEYS * ROWS_PER_KEY})
SELECT n - n / {KEYS} * {KEYS} + (SELECT min(id) FROM cabinet_key), n > {HALF},
    CURRENT_TIMESTAMP, 'chat', 200, '', '', 0, 0, 'Program', '', 1 FROM numbers
"""
QUESTIONS = """
import json
from readback.cabinet import selectors
from readback.cabinet.models import Key
key = Key.objects.order_by("id")[2500]
questions = {
    "journal": selectors.journal_of(key),
    "refused": selectors.journal_of(key, False),
    "keys": selectors.keys_with_requests_today(key.owner),
}
print(json.dumps({n: [q.explain(), len(list(q))] for n, q in questions.items()}))
"""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def answers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The plan and the number of rows for each question, on a full database."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('full')}/readback.sqlite3"
    else:
        url = request.getfixturevalue("postgresql").new_database()
    readback(url, "migrate")
    database = Database(url)
    account = database.add_account("alice@example.com")
    database.add_keys(account, [keys.mint() for _ in range(KEYS)])
    # PostgreSQL would look every row's key up.
    unchecked = "" if database.is_sqlite else "SET session_replication_role = replica;"
    database.rows(unchecked + FILL)
    database.rows("ANALYZE")
    answers: dict[str, Any] = json.loads(
        readback(url, "manage", "shell", "--verbosity", "0", "--command", QUESTIONS)
    )
    return answers


def readback(url: str, *command: str) -> str:
    settings = {"READBACK_DATABASE_URL": url, "READBACK_SECRET_KEY": "x" * 50}
    return run_readback(environment_with(settings), *command).stdout


@pytest.mark.parametrize(("question", "rows"), [("journal", 200), ("refused", 100)])
def test_the_journal_of_a_key_is_read_by_the_index(answers, question, rows):
    plan, found = answers[question]
    assert found == rows
    assert "cabinet_journal_last" in plan
    assert "SCAN cabinet_journalentry" not in plan and "Seq Scan" not in plan


def test_the_list_of_keys_reads_usage_by_the_index(answers):
    plan, found = answers["keys"]
    assert found == KEYS
    assert "SCAN cabinet_usage" not in plan
