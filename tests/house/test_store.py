"""The API's store runs on freshly migrated databases of both kinds.

The cabinet's migrations define the tables, and the store has its own SQL. These tests
check that the two fit together.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from readback import keys
from readback.api.data import store as store_module
from readback.api.data.dialects import StoreError
from readback.api.data.journal import Event, Tally
from readback.api.data.store import TRIM_EVERY, Store
from readback.api.data.unmatched import UnmatchedRequest
from readback.config import Config
from readback.contract import JOURNAL_ROWS
from tests.support import migrated
from tests.support.database import Database

NOW = time.time()
DAY = 86_400


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        migrated.copy_to(tmp_path / "copy")
        return Database(f"sqlite:///{tmp_path}/copy")
    return Database(request.getfixturevalue("postgresql").migrated_database())


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that the store ran."""
    texts: list[str] = []
    original = Store._run

    def noted(self: Store, text: str, values: object = ()) -> object:
        texts.append(text)
        return original(self, text, values)

    monkeypatch.setattr(Store, "_run", noted)
    return texts


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    made = Store(Config(database_url=database.url))
    yield made
    made.close()


@pytest.fixture
def key(database: Database) -> str:
    made = keys.mint()
    database.add_keys(database.add_account("alice@example.com"), [made])
    return made


def digest(key: str) -> bytes:
    return keys.digest(key.encode())


def tally(key: bytes, agent: str = "", code: str = "", at: float = NOW) -> Tally:
    made = Tally(Event(key, "chat", 400 if code else 200, code, "", agent))
    made.at = at
    made.requests = 3
    return made


def unmatched(
    address: str = "192.0.2.1", user_agent: str = "curl/8"
) -> UnmatchedRequest:
    return address, "chat", "invalid_key", "A detail.", user_agent


def statements_of_the_store() -> list[str]:
    texts = [
        text
        for name, text in vars(store_module).items()
        if name.isupper() and isinstance(text, str)
    ]
    assert len(texts) >= 12
    return texts


def test_every_statement_runs(store, run, database, key):
    assert store.keys([]) == {}
    [row] = store.keys([digest(key), b"x" * 32]).values()
    assert (row.digest, row.accepted, row.expires_at) == (digest(key), True, None)
    assert not row.explains_refusals and not row.rehearsal
    database.rows("UPDATE cabinet_key SET rehearsal = ?", "429 ok")
    assert store.keys([digest(key)])[digest(key)].rehearsal == "429 ok"

    many = [tally(row.digest, f"Program {n}") for n in range(TRIM_EVERY)]
    assert store.record([*many, tally(b"x" * 32)]) == []
    assert store.clean(NOW)
    store.write_unmatched({unmatched(): 1}, NOW)
    store.delete_unmatched(NOW)

    for text in statements_of_the_store():
        beginning = text.split("{")[0]
        assert any(each.startswith(beginning) for each in run), beginning
    assert store.take_statements() == len(run)


def test_equal_cells_are_added_up_and_old_counts_kept(store, database, key):
    [row] = store.keys([digest(key)]).values()
    for _ in range(2):
        store.record([tally(row.digest, "a"), tally(row.digest, "b")])
        store.record([tally(row.digest, code="invalid_json")])
    assert database.usage(key) == {("chat", ""): 12, ("chat", "invalid_json"): 6}
    # An outcome of the previous hour gets its own row; last_used_at does not change.
    used = "SELECT last_used_at FROM cabinet_key"
    before = database.value(used)
    store.record([tally(row.digest, at=NOW - 3600)])
    assert database.value("SELECT count(*) FROM cabinet_usage") == 3
    assert database.value(used) == before


@pytest.mark.parametrize("outcome", ["COMMIT", "ROLLBACK"])
def test_a_batch_is_written_once_if_its_commit_is_not_answered(
    store, database, key, monkeypatch, outcome
):
    undecided = []

    def lose_the_answer(text: str, values: object = ()) -> object:
        if text == "COMMIT" and not undecided:
            undecided.append(store._connection)
            store._connection = None
            raise StoreError("no answer", permanent=False)
        return Store._run(store, text, values)

    monkeypatch.setattr(store, "_run", lose_the_answer)
    batch = [tally(digest(key), "a"), tally(digest(key), "b")]
    with pytest.raises(StoreError, match="no answer"):
        store.record(batch)
    with pytest.raises(StoreError) as waiting:
        store.record(batch)
    assert waiting.value.busy
    undecided[0].execute(outcome)
    undecided[0].close()
    assert store.record(batch) == []
    assert database.usage(key) == {("chat", ""): 6}

    store.record([tally(digest(key))])
    assert database.usage(key) == {("chat", ""): 9}


YEARS = 100_000_000
# The stored, written and kept values, in seconds from now. Version 1.0.0 also
# stored how often `created` had been reset.
LAST_CREATED = [
    (0, 5, 5),
    # The other worker wrote first.
    (5, 0, 5),
    (3600, 0, 3600),
    # The clock was far ahead before, is far ahead now, or is far behind now.
    (YEARS, 0, 0),
    (0, YEARS, YEARS),
    (0, -YEARS, 0),
    # The key was only used to list models.
    (5, None, 5),
]


@pytest.mark.parametrize("restarts", [0, 7])
@pytest.mark.parametrize(("stored", "written", "kept"), LAST_CREATED)
def test_the_newest_created_of_a_key_is_kept(
    store, database, key, restarts, stored, written, kept
):
    now = int(time.time())
    [row] = store.keys([digest(key)]).values()
    assert row.last_created == 0
    count = (restarts << 32) + now + stored
    database.rows("UPDATE cabinet_key SET last_created = ?", count)
    [row] = store.keys([digest(key)]).values()
    assert row.last_created == now + stored
    batch = [tally(row.digest, "a"), tally(row.digest, "b")]
    batch[0].last_created = 0 if written is None else now + written
    store.record(batch)
    assert database.value("SELECT last_created FROM cabinet_key") == now + kept


def test_the_journal_of_a_key_keeps_its_last_entries(store, database, key):
    [row] = store.keys([digest(key)]).values()
    for start in range(0, 400, 40):
        agents = [f"{n}" for n in range(start, start + 40)]
        store.record([tally(row.digest, a, "", NOW + int(a)) for a in agents])
        store.record([tally(row.digest, a, "not_found", NOW + int(a)) for a in agents])

    for code in ("", "not_found"):
        rows = database.rows(
            "SELECT user_agent FROM cabinet_journalentry WHERE code = ?"
            " ORDER BY id DESC",
            code,
        )
        kept = [int(agent) for (agent,) in rows]
        assert len(kept) <= JOURNAL_ROWS + TRIM_EVERY
        assert kept[:JOURNAL_ROWS] == list(range(399, 299, -1))


def test_a_value_too_long_for_its_column_is_truncated(store, database, key):
    [row] = store.keys([digest(key)]).values()
    parts = ("d" * 9999, "u" * 999, "i" * 999)
    event = Event(row.digest, "chat", 400, "invalid_json", *parts)
    long = Tally(event)
    long.sender = "a" * 99
    long.at = NOW
    long.requests = 1
    store.record([long])
    [lengths] = database.rows(
        "SELECT length(detail), length(user_agent), length(client_address),"
        " length(differences) FROM cabinet_journalentry"
    )
    assert tuple(lengths) == (1000, 80, 45, 400)


def test_an_error_contains_no_value_of_the_statement(store, database, key):
    with pytest.raises(StoreError) as caught:
        store._run("SELECT nothing FROM nowhere WHERE secret = ?", ["sk-echo-secret"])
    assert "secret" not in str(caught.value)
    assert str(caught.value)


def test_a_key_row_contains_its_expiry(store, database, key):
    database.rows("UPDATE cabinet_key SET expires_at = ?", database.moment(60))
    [row] = store.keys([digest(key)]).values()
    assert abs(row.expires_at - time.time() - 60) < 30


def test_a_missing_database_file_is_not_created(tmp_path):
    store = Store(Config(database_url=f"sqlite:///{tmp_path}/nowhere"))
    with pytest.raises(StoreError, match="cannot be opened"):
        store.keys([])
    assert not list(tmp_path.iterdir())
    assert sqlite3.sqlite_version_info >= (3, 33)  # UPDATE … FROM


def unmatched_rows(database: Database) -> list[tuple[object, ...]]:
    return database.rows(
        "SELECT code, detail, user_agent, requests FROM cabinet_unmatchedrequest"
        " ORDER BY requests"
    )


def test_unmatched_requests_of_a_network_can_be_found_together(store, database):
    here = unmatched("2001:db8::1")
    there = unmatched("2001:db8::2")
    store.write_unmatched({here: 2, unmatched("2001:db8:1::1"): 1}, NOW)
    store.write_unmatched({there: 3}, NOW + 1)

    sums = "SELECT sum(requests) FROM cabinet_unmatchedrequest GROUP BY network"
    assert sorted(int(total) for (total,) in database.rows(sums)) == [1, 5]


def test_only_the_newest_unmatched_requests_are_kept(store, database, monkeypatch):
    monkeypatch.setattr(store_module, "UNMATCHED_KEPT", 40)
    for number in range(50):
        store.write_unmatched({unmatched(user_agent=f"{number}"): 1 + number}, NOW)

    store.delete_unmatched(NOW)

    kept = [row[2] for row in unmatched_rows(database)]
    assert kept == [f"{number}" for number in range(10, 50)]


def test_unmatched_requests_are_deleted_after_ten_minutes(store, database):
    """Rows that a wrong clock dated to the future are also deleted."""
    for agent, at in (("old", -601), ("new", -599), ("ahead", DAY)):
        store.write_unmatched({unmatched(user_agent=agent): 1}, NOW + at)

    store.delete_unmatched(NOW)

    assert [row[2] for row in unmatched_rows(database)] == ["new"]


def test_an_address_is_not_stored(store, database):
    store.write_unmatched({unmatched("192.0.2.1"): 1}, NOW)
    [[stored]] = database.rows("SELECT network FROM cabinet_unmatchedrequest")
    assert len(stored) == 16 and b"192.0.2" not in bytes(stored)


def test_two_workers_write_and_delete_at_the_same_time(store, database):
    """On PostgreSQL, neither blocks the other for so long that it fails."""
    other = Store(Config(database_url=database.url))
    errors: list[Exception] = []

    def work(mine: Store, order: int) -> None:
        requests = [unmatched(f"10.0.{n}.1", user_agent="x") for n in range(64)]
        try:
            for number in range(30):
                mine.write_unmatched(dict.fromkeys(requests[::order], 1), NOW)
                mine.delete_unmatched(NOW + 601 * (number % 2))
        except StoreError as error:
            errors.append(error)
        finally:
            mine.close()

    threads = [
        threading.Thread(target=work, args=each) for each in ((store, 1), (other, -1))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # SQLite allows one writer at a time; the other one gives up after 0.2 s.
    assert not errors or database.is_sqlite


def add_rows(database: Database, key: str, times: list[float]) -> None:
    """Add a usage row and a journal row for each time."""
    key_id = database.value("SELECT id FROM cabinet_key WHERE digest = ?", digest(key))
    marks = []
    values = []
    for number, seconds in enumerate(times):
        marks.append("(?, ?, 'chat', ?, 1)")
        values += [key_id, database.moment(seconds), f"{number}"]
    database.rows(
        "INSERT INTO cabinet_usage (key_id, hour, endpoint, code, requests)"
        f" VALUES {', '.join(marks)}",
        *values,
    )
    database.rows(
        "INSERT INTO cabinet_journalentry (key_id, at, endpoint, accepted, code,"
        " status, detail, request_bytes, answer_bytes, user_agent, client_address,"
        " requests)"
        " SELECT key_id, hour, endpoint, ?, code, 200, '', 0, 0, '', '', 1"
        " FROM cabinet_usage ORDER BY id",
        True,
    )


def ages(database: Database, table: str, column: str) -> list[int]:
    """Return the ages of a table's rows in days, oldest first."""
    moments = [row[0] for row in database.rows(f"SELECT {column} FROM {table}")]
    if database.is_sqlite:
        moments = [datetime.fromisoformat(each).replace(tzinfo=UTC) for each in moments]
    return sorted(((datetime.now(UTC) - each).days for each in moments), reverse=True)


def test_rows_older_than_the_settings_allow_are_deleted_whatever_precedes_them(
    database, key
):
    """Future dates from a wrong clock do not keep older rows from being deleted."""
    ahead = [1000 * DAY + n for n in range(1200)]
    old = [-31 * DAY - n for n in range(1200)]
    add_rows(database, key, [*ahead, *old, -29 * DAY, -19 * DAY, 0, DAY / 2])
    store = Store(Config(database_url=database.url, usage_days=30, journal_days=20))

    steps = 1
    while not store.clean(NOW):
        steps += 1
    store.close()

    assert steps == 2  # of 1000 rows each
    assert ages(database, "cabinet_usage", "hour") == [29, 19, 0, -1]
    assert ages(database, "cabinet_journalentry", "at") == [19, 0, -1]


def test_cleaning_reads_only_what_it_deletes(database, key):
    add_rows(database, key, [-n * DAY for n in range(400)])
    explain = "EXPLAIN QUERY PLAN " if database.is_sqlite else "EXPLAIN "
    with database.connected() as connection:
        if not database.is_sqlite:
            connection.execute("ANALYZE")
            connection.execute("SET enable_seqscan = off")  # the table is small
        for table, column, name in (
            ("cabinet_usage", "hour", "cabinet_usage_hour"),
            ("cabinet_journalentry", "at", "cabinet_journal_at"),
        ):
            text = store_module._CLEAN.format(table=table, time=column, is_beyond="<")
            if not database.is_sqlite:
                text = text.replace("?", "%s")
            values = [database.moment(-390 * DAY), 1000]
            plan = str(connection.execute(explain + text, values).fetchall())
            assert name in plan, plan


def test_another_network_key_is_used_after_a_restore(store, database):
    networks = "SELECT network FROM cabinet_unmatchedrequest"
    store.write_unmatched({unmatched(): 1}, NOW)
    before = database.rows(networks)
    database.rows("UPDATE cabinet_networkkey SET key = ?", b"k" * 32)

    store.delete_unmatched(NOW + 601)
    store.write_unmatched({unmatched(): 1}, NOW)

    assert len(before) == 1 and database.rows(networks) != before
