"""The database of the server, as the plugin uses it: new keys, and the journal.

The plugin opens the file itself. A command would have to import Django, which takes a
second, and an address to ask would be one more that every server has to protect.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from readback import keys, programs
from readback.config import DATABASE_NAME
from readback.pytest_plugin.arrived import ACCEPTED, ArrivedRequest

# The server locks the file for a few milliseconds at a time.
_LOCK_SECONDS = 10.0

_KEY = "SELECT * FROM cabinet_key WHERE digest = ?"
_JOURNAL = """
SELECT j.requests, j.status, j.code, j.endpoint, j.user_agent, j.differences
FROM cabinet_journalentry j JOIN cabinet_key k ON k.id = j.key_id
WHERE k.digest = ? ORDER BY j.id
"""
# Without a limit, unlike the journal.
_USAGE = """
SELECT u.code, SUM(u.requests) AS requests
FROM cabinet_usage u JOIN cabinet_key k ON k.id = u.key_id
WHERE k.digest = ? GROUP BY u.code
"""


class JournalDatabase:
    """A SQLite file that a running server uses, too."""

    def __init__(self, data_dir: Path) -> None:
        self._url = f"{(data_dir / DATABASE_NAME).as_uri()}?mode=rw"

    def create_key(self, like: str) -> str:
        """Create a key of the same account and with the settings of another."""
        text = keys.mint()
        with self._connect() as connection:
            row = dict(connection.execute(_KEY, (_digest(like),)).fetchone())
            del row["id"]
            row |= {
                "digest": _digest(text),
                "last_four": keys.last_characters(text),
                "last_used_at": None,
                "last_created": None,
            }
            marks = ", ".join("?" * len(row))
            connection.execute(
                f"INSERT INTO cabinet_key ({', '.join(row)}) VALUES ({marks})",
                tuple(row.values()),
            )
        return text

    def arrived(self, key: str) -> list[ArrivedRequest]:
        """Return what the journal of a key has, the oldest first."""
        with self._connect() as connection:
            rows = connection.execute(_JOURNAL, (_digest(key),)).fetchall()
        return [_arrived(row) for row in rows]

    def outcomes(self, key: str) -> Counter[str]:
        """Return how many requests of a key had each outcome."""
        with self._connect() as connection:
            rows = connection.execute(_USAGE, (_digest(key),)).fetchall()
        return Counter({row["code"] or ACCEPTED: row["requests"] for row in rows})

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._url, uri=True, timeout=_LOCK_SECONDS)
        with closing(connection), connection:
            connection.row_factory = sqlite3.Row
            # Nothing here has to survive a power cut.
            connection.execute("PRAGMA synchronous = OFF")
            yield connection


def _arrived(row: sqlite3.Row) -> ArrivedRequest:
    differences = tuple(row["differences"].split())
    recognised = programs.recognise(row["user_agent"], differences)
    return ArrivedRequest(
        requests=row["requests"],
        outcome=row["code"] or ACCEPTED,
        status=row["status"],
        endpoint=row["endpoint"],
        program=recognised.name if recognised else row["user_agent"],
        differences=differences,
    )


def _digest(key: str) -> bytes:
    return keys.digest(key.encode())
