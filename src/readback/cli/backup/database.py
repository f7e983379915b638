"""The database in an archive: a SQLite file, whatever the installation uses.

It contains no sessions, so a stolen archive lets no one log in. A restore replaces the
SQLite file with a rename, or the rows in PostgreSQL in one transaction. If it is
interrupted, you have either the old or the new database.

Rows are streamed between PostgreSQL and a file that has been migrated, so both have the
same tables and columns. Other tables in the same PostgreSQL database are not touched.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.core.management import call_command
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    DataError,
    IntegrityError,
    connection,
    connections,
    transaction,
)
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.db.migrations.exceptions import InconsistentMigrationHistory as BadHistory

from readback.cabinet.storage import private_files, schema
from readback.cli.exit_codes import Failure
from readback.config import Config

_SESSIONS = ("django_session", "usersessions_usersession")
# A time as Django stores it in SQLite; formatting it in Python would be much slower.
_MOMENT = """
replace(to_char("{}" AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), '.000000', '')
"""
_RUNNING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name LIKE 'readback-%%' AND pid <> pg_backend_pid()
"""


def copy(config: Config, target: Path) -> None:
    """Write a copy without sessions; the service may keep running."""
    try:
        if config.sqlite_path:
            _copy_file(config.sqlite_path, target)
        else:
            _require_known("the database")
            with _django_uses(target):
                call_command("migrate", interactive=False, verbosity=0)
            _export(target)
        _check(target)
    except sqlite3.Error as error:
        raise Failure(f"The database cannot be copied: {error}.") from None


def _copy_file(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as database:
        # Unlike a copy of the pages, this leaves out deleted data.
        database.execute("VACUUM INTO ?", [str(target)])
    with closing(sqlite3.connect(target)) as copied, copied:
        copied.execute("PRAGMA secure_delete = ON")
        for name in _SESSIONS:
            copied.execute(f"DELETE FROM {name}")


def prepare(copied: Path) -> None:
    """Check a copy, and migrate it if an older version made it."""
    try:
        _check(copied)
        with _django_uses(copied):
            if not schema.applied():
                raise sqlite3.DatabaseError("it has no tables of Readback")
            _require_known("the archive's database")
            call_command("migrate", interactive=False, verbosity=0)
    except (DatabaseError, sqlite3.Error, BadHistory, ValueError) as error:
        reason = str(error).rstrip(".")
        raise Failure(f"The archive's database cannot be used: {reason}.") from None


def replace(config: Config, copied: Path) -> None:
    """Replace the database with a copy, which for SQLite must be on the same disk."""
    if path := config.sqlite_path:
        private_files.sync(copied)
        # From here on, a starting service has to wait; a running one is detected.
        with schema.locked():
            require_free(config)
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            os.replace(copied, path)
            private_files.sync(path.absolute().parent)
        return
    _require_known("the database")
    schema.migrate()
    _load(config, copied)


def require_free(config: Config) -> None:
    """End the command if another process has the database open."""
    if config.sqlite_path:
        is_used = _is_open(config.sqlite_path)
    else:
        with connection.cursor() as cursor:
            cursor.execute(_RUNNING)
            is_used = any(cursor.fetchone())
    if is_used:
        raise Failure("Readback uses this database: stop it first.")


def _is_open(path: Path) -> bool:
    """Return whether another process has the file open, without changing its data.

    If none does, closing the connection moves SQLite's write-ahead log into the file.
    A log left behind would later be applied to the file that replaces this one.
    """
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=1)) as database:
        try:
            database.execute("PRAGMA locking_mode=EXCLUSIVE")
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.DatabaseError as error:  # a damaged file may be replaced
            return "locked" in str(error)
    return False


def _check(copied: Path) -> None:
    """Raise sqlite3.Error if a copy is damaged."""
    with closing(sqlite3.connect(copied)) as database:
        [(found,)] = database.execute("PRAGMA quick_check(1)")
        if found != "ok":
            raise sqlite3.DatabaseError(f"it is damaged: {found}")


def _require_known(what: str) -> None:
    """End the command if a newer version has migrated the database."""
    if newer := schema.unknown():
        raise Failure(
            f"A newer version of Readback has applied {', '.join(newer)} to {what}: "
            "use that version."
        )


@contextmanager
def _django_uses(file: Path) -> Iterator[None]:
    """Let Django use a SQLite file instead of the installation's database.

    An alias is not enough, because some migrations always use the default database.
    """
    installed = connections[DEFAULT_DB_ALIAS]
    # Syncing each write is unnecessary: the result is synced to the disk at the end.
    options = {"init_command": "PRAGMA synchronous = OFF"}
    settings = {**installed.settings_dict, "NAME": str(file), "OPTIONS": options}
    connections[DEFAULT_DB_ALIAS] = DatabaseWrapper(settings, DEFAULT_DB_ALIAS)
    try:
        yield
    finally:
        connection.close()
        connections[DEFAULT_DB_ALIAS] = installed


def _export(target: Path) -> None:
    """Replace the rows in a file with a snapshot of those in PostgreSQL."""
    with (
        closing(sqlite3.connect(target)) as file,
        file,
        transaction.atomic(),
        connection.wrap_database_errors,
        connection.cursor() as cursor,
    ):
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for table in _tables():
            columns = _columns(file, table)
            values = ", ".join(
                _MOMENT.format(name) if declared == "datetime" else f'"{name}"'
                for name, declared in columns
            )
            marks = ", ".join("?" * len(columns))
            file.execute(f'DELETE FROM "{table}"')  # rows that migrations have added
            with connection.chunked_cursor() as rows:
                rows.execute(f'SELECT {values} FROM "{table}"')
                insert = f'INSERT INTO "{table}" VALUES ({marks})'
                file.executemany(insert, rows)
        file.execute("DELETE FROM sqlite_sequence")
        for table, sequence in _sequences():
            # The highest id is not enough: the audit trail also contains the ids of
            # deleted accounts.
            cursor.execute(f'SELECT last_value FROM "{sequence}" WHERE is_called')
            for (last,) in cursor:
                file.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", [table, last])


def _load(config: Config, copied: Path) -> None:
    """Replace the rows in PostgreSQL with those in a file, all or none."""
    try:
        with (
            closing(sqlite3.connect(copied)) as file,
            transaction.atomic(),
            connection.wrap_database_errors,
            connection.cursor() as cursor,
        ):
            # Unlike DROP, this keeps the privileges on the tables.
            tables = ", ".join(f'"{table}"' for table in (*_tables(), *_SESSIONS))
            cursor.execute(f"TRUNCATE {tables} RESTART IDENTITY")
            # From here on, a starting service has to wait; a running one is detected.
            require_free(config)
            for table in _tables():
                _load_table(cursor, file, table)
            last = dict(file.execute("SELECT * FROM sqlite_sequence WHERE seq > 0"))
            for table, sequence in _sequences():
                if table in last:
                    setval = "SELECT setval(%s, CAST(%s AS bigint))"
                    cursor.execute(setval, [sequence, last[table]])
    except (DataError, IntegrityError, sqlite3.Error) as error:
        reason = " ".join(str(error).split())
        raise Failure(
            "PostgreSQL cannot store what the archive contains, so nothing was "
            f"restored: {reason}"
        ) from None


def _load_table(cursor: Any, file: sqlite3.Connection, table: str) -> None:
    """Copy a table's rows to PostgreSQL, which checks each value."""
    columns = _columns(file, table)
    names = ", ".join(f'"{name}"' for name, _declared in columns)
    # In SQLite, any column may contain values of any type.
    values = ", ".join(
        f'CAST("{name}" AS {"BLOB" if declared == "BLOB" else "TEXT"})'
        for name, declared in columns
    )
    with cursor.copy(f'COPY "{table}" ({names}) FROM STDIN') as target:
        for row in file.execute(f'SELECT {values} FROM "{table}"'):
            try:
                target.write_row(row)
            except psycopg.DataError as error:  # NUL in a string
                raise DataError(f"{error} ({table}, row {row[0]})") from None


def _tables() -> list[str]:
    """Return our tables, except for sessions and the list of migrations."""
    return sorted(set(connection.introspection.django_table_names()) - set(_SESSIONS))


def _columns(file: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    """Return a SQLite table's columns, each with its declared type."""
    found = file.execute(f'PRAGMA table_info("{table}")')
    return [(name, declared) for _number, name, declared, *_rest in found]


def _sequences() -> list[tuple[str, str]]:
    """Return the tables whose ids come from a sequence, each with that sequence."""
    found = connection.introspection.sequence_list()
    return [(sequence["table"], sequence["name"]) for sequence in found]
