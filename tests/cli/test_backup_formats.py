"""Archives restored into the other database, archives of 1.0.0, and hostile ones.

If PostgreSQL refuses a value that SQLite accepted, the error names it; nothing changes.
"""

import sqlite3
from contextlib import closing

import pytest

from tests.cli.test_backup import KEYS, NEWER, altered, members_of, refusal, with_key

# What no command writes: second factors, usage, a journal, a higher next account id.
FILL = """
INSERT INTO mfa_authenticator (user_id, type, data, created_at)
    SELECT id, 'totp', '{"secret": "sealed"}', '2026-01-02 03:04:05.000600'
    FROM cabinet_user;
INSERT INTO cabinet_usage (key_id, hour, endpoint, code, requests)
    SELECT id, '2026-01-02 03:00:00', 'chat', '', 5000000000 FROM cabinet_key;
INSERT INTO cabinet_journalentry (key_id, accepted, at, endpoint, status, code, detail,
        request_bytes, answer_bytes, user_agent, client_address, requests)
    SELECT id, 0, '2026-01-02 03:04:05.678000', 'chat', 400, '',
        'a \\ b' || char(9, 10) || 'ж', 1, 2, 'python', '::1', 1 FROM cabinet_key;
UPDATE cabinet_key SET label = 'ключ', replaced_by_id = id, last_created = 1800000000;
UPDATE sqlite_sequence SET seq = 77 WHERE name = 'cabinet_user';
"""


@pytest.fixture
def on_postgresql(program, postgresql):
    """Return the same program with an empty PostgreSQL database."""
    return program.with_settings(DATABASE_URL=postgresql.new_database())


def change(program, statements):
    path = program.database.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as database:
        database.executescript(statements)


def contents(file, folder):
    """Return all rows of an archive's database, and the next ids, by table."""
    (folder / "unpacked").write_bytes(dict(members_of(file))["database"])
    with closing(sqlite3.connect(folder / "unpacked")) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        found = {
            table: sorted(database.execute(f"SELECT * FROM {table}"), key=repr)
            for (table,) in tables.fetchall()
        }
    # These differ: when migrations were applied, and when a backup was restored.
    del found["django_migrations"], found["cabinet_lastbackup"]
    counted = found.pop("sqlite_sequence")
    unequal = ("django_migrations", "cabinet_lastbackup")
    return found, {row for row in counted if row[0] not in unequal and row[1]}


def test_every_row_moves_to_postgresql_and_back(migrated, on_postgresql, tmp_path):
    change(with_key(migrated), FILL)
    migrated.output("backup", "first")
    on_postgresql.output("restore", "first", "--yes")
    on_postgresql.output("backup", "second")
    migrated.output("restore", "second", "--yes")
    migrated.output("backup", "third")

    first, second, third = (
        contents(tmp_path / name, tmp_path) for name in ("first", "second", "third")
    )
    assert first == second == third
    assert first[0]["mfa_authenticator"] and first[0]["cabinet_usage"]
    on_postgresql.output("account", "create", "bob@example.com", "--confirmed")
    newest = "SELECT max(id) FROM cabinet_user"
    assert on_postgresql.database.value(newest) == 78, "no id is given out twice"


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE cabinet_key SET label = 'a' || char(0)", "cabinet_key, row 1"),
        ("UPDATE cabinet_key SET label = printf('%061d', 0)", 'column label: "000'),
        ("UPDATE cabinet_key SET label = x'ff'", "UTF-8"),
        (
            "UPDATE cabinet_key SET last_created = 1e19",
            'column last_created: "1.0e+19"',
        ),
        (
            "UPDATE cabinet_key SET created_at = '2026-02-30'",
            'created_at: "2026-02-30"',
        ),
        ("UPDATE cabinet_key SET owner_id = 99", "(owner_id)=(99) is not present"),
        ("UPDATE cabinet_usage SET requests = 'many'", 'column requests: "many"'),
        ("UPDATE cabinet_journalentry SET status = 40000", 'column status: "40000"'),
        ("UPDATE sqlite_sequence SET seq = 'every'", 'bigint: "every"'),
    ],
)
def test_a_value_that_postgresql_refuses_is_named_and_changes_nothing(
    migrated, program, postgresql, statement, named
):
    change(with_key(migrated), FILL + statement)
    migrated.output("backup", "saved")
    url = postgresql.migrated_database()
    on_postgresql = with_key(program.with_settings(DATABASE_URL=url))
    on_postgresql.output("key", "create", "alice@example.com")

    found = refusal(on_postgresql.run("restore", "saved", "--yes"))

    assert "nothing was restored" in found and named in found
    assert on_postgresql.database.value(KEYS) == 2


def of_first_release(migrated, tmp_path):
    """Return an archive like those of 1.0.0: with a brand folder, without checksums."""
    with_key(migrated).output("backup", "saved")
    migrated.output("manage", "migrate", "cabinet", "0001")
    account = migrated.database.value("SELECT id FROM cabinet_user")
    change(
        migrated,
        "INSERT INTO django_admin_log (action_time, user_id, content_type_id,"
        " object_id, object_repr, action_flag, change_message)"
        f" SELECT '2026-01-01', {account}, id, '{account}', 'alice@example.com', 2, 'x'"
        " FROM django_content_type WHERE model = 'user' AND app_label = 'cabinet'",
    )
    path = migrated.database.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    with open(path, "rb") as file:
        members = {"database": file.read(), "brand/terms.en.md": b"# Terms"}
    names = ["database", "secret-key", "brand/terms.en.md"]
    return altered(tmp_path / "saved", members, sha256=None, members=names)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_archive_of_the_first_release_is_migrated(
    migrated, on_postgresql, tmp_path, kind
):
    (tmp_path / "older").write_bytes(of_first_release(migrated, tmp_path))
    program = on_postgresql if kind == "postgresql" else migrated

    done = program.run("restore", "older", "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert program.database.value(KEYS) == 1
    entry = program.database.value("SELECT object_name FROM cabinet_auditentry")
    assert entry == "alice@example.com"
    assert "up to date" in program.output("migrate")


def test_a_dump_of_the_first_release_is_refused(migrated, tmp_path):
    with_key(migrated).output("backup", "saved")
    dump = altered(tmp_path / "saved", {"database": b"PGDMP"}, database="PostgreSQL")
    (tmp_path / "older").write_bytes(dump)
    found = refusal(migrated.run("restore", "older", "--yes"))
    assert "a dump of PostgreSQL" in found and "docs/backup.md" in found


def sqlite_file(tmp_path, *statements):
    with closing(sqlite3.connect(tmp_path / "made")) as database:
        database.executescript("VACUUM;" + ";".join(statements))
    return (tmp_path / "made").read_bytes()


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ((), "no tables of Readback"),
        (
            (
                "CREATE TABLE django_migrations (id, app, name, applied)",
                f"{NEWER} ('cabinet', '0001_initial', '2026-01-01')",
            ),
            "before its dependency",
        ),
        (None, "not a database"),
    ],
)
def test_a_database_that_is_not_ours_is_refused(migrated, tmp_path, statements, reason):
    with_key(migrated).output("backup", "saved")
    made = b"junk " * 500 if statements is None else sqlite_file(tmp_path, *statements)
    (tmp_path / "other").write_bytes(altered(tmp_path / "saved", {"database": made}))
    found = refusal(migrated.run("restore", "other", "--yes"))
    assert "The archive's database cannot be used" in found and reason in found
    assert migrated.database.value(KEYS) == 1
