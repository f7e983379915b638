"""The rows of PostgreSQL in a backup: copied to a file of SQLite, and from one.

The file has been migrated, so it has the same tables and columns. At most a thousand
rows are in memory. Other tables in the same PostgreSQL database are not touched.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from django.db import DataError, IntegrityError, connection, transaction

from readback.cli.database import rows
from readback.cli.exit_codes import Failure

SESSIONS = ("django_session", "usersessions_usersession")
IN_USE = "Readback uses this database: stop it first."
# Our rows are far smaller; this limits the memory that a hostile archive can use.
_MAX_ROW_BYTES = 2**24
_ROWS_AT_ONCE = 1000
# As Django stores it in SQLite. Doing this in Python would take most of the time.
_MOMENT = """
replace(to_char("{}" AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), '.000000', '')
"""
_RUNNING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name LIKE 'readback-%%' AND pid <> pg_backend_pid()
"""


def require_free() -> None:
    """End the command if Readback is connected to the database."""
    if rows(_RUNNING)[0][0]:
        raise Failure(IN_USE)


def export(target: Path) -> None:
    """Replace the rows of a file by those of PostgreSQL, as they are at one moment."""
    with (
        closing(sqlite3.connect(target)) as file,
        file,
        transaction.atomic(),
        connection.wrap_database_errors,
        connection.cursor() as cursor,
    ):
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for table in _tables():
            _export_table(file, table)
        file.execute("DELETE FROM sqlite_sequence")
        for table, sequence in _sequences():
            # Not the highest id, because the audit trail contains ids of deleted
            # accounts.
            cursor.execute(f'SELECT last_value FROM "{sequence}" WHERE is_called')
            for (last,) in cursor:
                file.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", [table, last])


def _export_table(file: sqlite3.Connection, table: str) -> None:
    columns = _columns(file, table)
    values = ", ".join(
        _MOMENT.format(name) if declared == "datetime" else f'"{name}"'
        for name, declared in columns
    )
    marks = ", ".join("?" * len(columns))
    file.execute(f'DELETE FROM "{table}"')  # what the migrations added
    with connection.chunked_cursor() as cursor:
        cursor.execute(f'SELECT {values} FROM "{table}"')
        while found := cursor.fetchmany(_ROWS_AT_ONCE):
            file.executemany(f'INSERT INTO "{table}" VALUES ({marks})', found)


def load(copied: Path) -> None:
    """Replace the rows of PostgreSQL by those of a file, all or none."""
    try:
        with closing(sqlite3.connect(copied)) as file:
            file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_ROW_BYTES)
            _load(file)
    except (DataError, IntegrityError, sqlite3.Error) as error:
        reason = " ".join(str(error).split())
        raise Failure(
            "PostgreSQL cannot store what the archive contains, so nothing was "
            f"restored: {reason}"
        ) from None


def _load(file: sqlite3.Connection) -> None:
    with (
        transaction.atomic(),
        connection.wrap_database_errors,
        connection.cursor() as cursor,
    ):
        # Their privileges stay.
        tables = ", ".join(f'"{table}"' for table in (*_tables(), *SESSIONS))
        cursor.execute(f"TRUNCATE {tables} RESTART IDENTITY")
        # A service that starts now waits, and one that has started is noticed.
        require_free()
        for table in _tables():
            _load_table(cursor, file, table)
        last = dict(file.execute("SELECT name, seq FROM sqlite_sequence WHERE seq > 0"))
        for table, sequence in _sequences():
            if table in last:
                setval = "SELECT setval(%s, CAST(%s AS bigint))"
                cursor.execute(setval, [sequence, last[table]])


def _load_table(cursor: Any, file: sqlite3.Connection, table: str) -> None:
    """Copy the rows of a table to PostgreSQL, which checks each value."""
    columns = _columns(file, table)
    names = ", ".join(f'"{name}"' for name, _declared in columns)
    # In SQLite, a value of any type may be in a column of any type.
    values = ", ".join(
        f'CAST("{name}" AS {"BLOB" if declared == "BLOB" else "TEXT"})'
        for name, declared in columns
    )
    with cursor.copy(f'COPY "{table}" ({names}) FROM STDIN') as target:
        for row in file.execute(f'SELECT {values} FROM "{table}"'):
            try:
                target.write_row(row)
            except psycopg.DataError as error:  # NUL in a text
                raise DataError(f"{error} ({table}, row {row[0]})") from None


def _tables() -> list[str]:
    """Return our tables, without sessions and without the list of migrations."""
    return sorted(set(connection.introspection.django_table_names()) - set(SESSIONS))


def _columns(file: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    """Return the columns of a table in SQLite, each with its type."""
    found = file.execute(f'PRAGMA table_info("{table}")')
    return [(name, declared) for _number, name, declared, *_rest in found]


def _sequences() -> list[tuple[str, str]]:
    """Return the tables whose ids PostgreSQL counts, each with its sequence."""
    found = connection.introspection.sequence_list()
    return [(sequence["table"], sequence["name"]) for sequence in found]
