"""A PostgreSQL database that tests use one after another, emptied in between.

A new database has 300 files, and creating and deleting them takes longer than most
tests. Emptied, it is like new: without rows, and with ids that begin at 1.
"""

from collections.abc import Iterable

import psycopg
from psycopg.sql import SQL, Identifier

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
_COLUMNS = """
SELECT attrelid::regclass::text, attname, atttypid, attnotnull FROM pg_attribute
JOIN pg_class ON pg_class.oid = attrelid
WHERE relnamespace = 'public'::regnamespace AND attnum > 0 ORDER BY attrelid, attnum
"""
_SEQUENCES = """
SELECT format('%I', sequencename), coalesce(last_value, start_value),
    last_value IS NOT NULL FROM pg_sequences WHERE schemaname = 'public'
"""
_END_OTHER_CONNECTIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class ReusedDatabase:
    """The database at a URL; at first, it contains only what the migrations add."""

    def __init__(self, url: str) -> None:
        self.url = url
        with psycopg.connect(url) as connection:
            self._columns = connection.execute(_COLUMNS).fetchall()
            self._sequences = connection.execute(_SEQUENCES).fetchall()
            names = [name for (name,) in connection.execute(_TABLES)]
            rows = _rows(connection, names)
            self._empty_tables = [name for name, stored in rows.items() if not stored]
            self._stored = {name: stored for name, stored in rows.items() if stored}

    def restore(self) -> bool:
        """Restore the initial rows; return False if a test changed more than rows."""
        with psycopg.connect(self.url) as connection:
            connection.execute(_END_OTHER_CONNECTIONS)
            if connection.execute(_COLUMNS).fetchall() != self._columns:
                return False
            # Do not check foreign keys, so that the order does not matter.
            connection.execute("SET session_replication_role = replica")
            for name in self._empty_tables:
                connection.execute(SQL("DELETE FROM {}").format(Identifier(name)))
            if _rows(connection, self._stored) != self._stored:
                return False
            for sequence in self._sequences:
                connection.execute("SELECT setval(%s, %s, %s)", sequence)
        return True


def _rows(
    connection: psycopg.Connection, names: Iterable[str]
) -> dict[str, list[tuple]]:
    tables = {name: SQL("TABLE {}").format(Identifier(name)) for name in names}
    return {name: connection.execute(rows).fetchall() for name, rows in tables.items()}
