"""Every SQL statement of the data plane, for SQLite and PostgreSQL.

The tables belong to the cabinet's migrations; a test runs each statement here on
both databases. Statements are written once, with `?`; a dialect is how to connect,
how to write a moment, and what a lock is called. Only the clerk's thread comes here.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from readback.api.journal import Tally
from readback.config import Config

KEYS_PER_STATEMENT = 500
JOURNAL_ROWS_KEPT = 100
_BUSY_SECONDS = 5.0
_CONNECT_SECONDS = 2

# An account's address is confirmed when allauth says so of its primary one.
_KEYS = """
SELECT k.digest, k.id, k.expires_at,
       k.revoked_at IS NULL AND u.is_active AND EXISTS (
           SELECT 1 FROM account_emailaddress e
           WHERE e.user_id = u.id AND e.verified AND e."primary")
FROM cabinet_key k JOIN cabinet_user u ON u.id = k.owner_id
WHERE k.digest IN ({digests})
"""
# From the key's own row, so that nothing is written of a key deleted meanwhile.
_USAGE = """
INSERT INTO cabinet_usage (key_id, hour, endpoint, code, requests)
SELECT k.id, ?, ?, ?, ? FROM cabinet_key k WHERE k.id = ? {lock}
ON CONFLICT (key_id, hour, endpoint, code)
DO UPDATE SET requests = cabinet_usage.requests + excluded.requests
"""
_ENTRY = """
INSERT INTO cabinet_journalentry (key_id, at, endpoint, status, code, detail,
    accepted, request_bytes, answer_bytes, user_agent, client_address, requests)
SELECT k.id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
FROM cabinet_key k WHERE k.id = ? {lock}
"""
_LAST_USED = "UPDATE cabinet_key SET last_used_at = ? WHERE id = ?"
_THIN = """
DELETE FROM cabinet_journalentry WHERE key_id = ? AND accepted = ? AND id <= (
    SELECT id FROM cabinet_journalentry WHERE key_id = ? AND accepted = ?
    ORDER BY id DESC LIMIT 1 OFFSET ?)
"""


class KeyRow(NamedTuple):
    """What the database says of a key."""

    digest: bytes
    key_id: int
    expires_at: float | None
    accepted: bool


class StoreError(Exception):
    """The database could not be asked or written."""


class Dialect(Protocol):
    errors: tuple[type[Exception], ...]
    lock: str

    def connect(self) -> Any: ...
    def statement(self, text: str) -> str: ...
    def moment(self, at: float) -> Any: ...
    def seconds(self, moment: Any) -> float: ...


class Sqlite:
    """The embedded database: Django writes moments as text in UTC."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    # In an INSERT … SELECT … ON CONFLICT, SQLite wants a WHERE; ours has one.
    lock = ""

    def __init__(self, path: Path) -> None:
        self._path = path

    def connect(self) -> sqlite3.Connection:
        # mode=rw: only migrations may make a database.
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def statement(self, text: str) -> str:
        return text

    def moment(self, at: float) -> str:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")

    def seconds(self, moment: str) -> float:
        return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()


class Postgresql:
    """PostgreSQL through psycopg; nothing here outlives a transaction."""

    # A key's row is held while rows that name it are written.
    lock = "FOR KEY SHARE"

    def __init__(self, url: str) -> None:
        import psycopg

        self._psycopg = psycopg
        self._url = url
        self.errors: tuple[type[Exception], ...] = (psycopg.Error,)

    def connect(self) -> Any:
        return self._psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=_CONNECT_SECONDS,
            application_name="readback-api",
        )

    def statement(self, text: str) -> str:
        return text.replace("?", "%s")

    def moment(self, at: float) -> datetime:
        return datetime.fromtimestamp(at, UTC)

    def seconds(self, moment: datetime) -> float:
        return moment.timestamp()


def dialect(config: Config) -> Dialect:
    if config.sqlite_path:
        return Sqlite(config.sqlite_path.absolute())
    return Postgresql(config.effective_database_url)


class Store:
    """One connection to the database, opened when it is needed."""

    def __init__(self, config: Config) -> None:
        self._dialect = dialect(config)
        self._connection: Any = None
        self._statements = 0

    def ping(self) -> None:
        """Find out whether the database answers."""
        self._run("SELECT 1")

    def take_statements(self) -> int:
        """Give how many statements have been run since the last time."""
        count, self._statements = self._statements, 0
        return count

    def keys(self, digests: Sequence[bytes]) -> list[KeyRow]:
        """Look keys up by their digests, many in one statement."""
        rows: list[KeyRow] = []
        for start in range(0, len(digests), KEYS_PER_STATEMENT):
            batch = digests[start : start + KEYS_PER_STATEMENT]
            marks = ", ".join("?" * len(batch))
            found = self._run(_KEYS.format(digests=marks), batch).fetchall()
            rows += [self._key_row(*row) for row in found]
        return rows

    def record(self, tallies: Iterable[Tally]) -> None:
        """Write usage and journal in one transaction."""
        tallies = list(tallies)
        self._run("BEGIN")
        try:
            self._record(tallies)
            self._run("COMMIT")
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _record(self, tallies: list[Tally]) -> None:
        for tally in tallies:
            self._record_one(tally)
        last_used = {tally.event.key_id: tally.at for tally in tallies}
        for key_id, at in last_used.items():
            self._run(_LAST_USED, (self._dialect.moment(at), key_id))
        for key_id, accepted in {(t.event.key_id, t.event.accepted) for t in tallies}:
            kept = JOURNAL_ROWS_KEPT
            self._run(_THIN, (key_id, accepted, key_id, accepted, kept))

    def _record_one(self, tally: Tally) -> None:
        event, moment = tally.event, self._dialect.moment
        hour = moment(tally.at // 3600 * 3600)
        self._run(
            _USAGE.format(lock=self._dialect.lock),
            (hour, event.endpoint, event.code, tally.requests, event.key_id),
        )
        self._run(
            _ENTRY.format(lock=self._dialect.lock),
            (
                moment(tally.at),
                event.endpoint,
                event.status,
                event.code,
                event.detail,
                event.accepted,
                tally.request_bytes,
                tally.answer_bytes,
                event.user_agent,
                event.address,
                tally.requests,
                event.key_id,
            ),
        )

    def _run(self, text: str, values: Sequence[Any] = ()) -> Any:
        try:
            if self._connection is None:
                self._connection = self._dialect.connect()
            self._statements += 1
            statement = self._dialect.statement(text)
            return self._connection.execute(statement, tuple(values))
        except self._dialect.errors as error:
            self.close()
            # The text of the error may quote values; its kind is enough.
            raise StoreError(type(error).__name__) from None

    def _key_row(
        self, digest: bytes, key_id: int, expires_at: Any, accepted: Any
    ) -> KeyRow:
        expiry = None if expires_at is None else self._dialect.seconds(expires_at)
        return KeyRow(bytes(digest), key_id, expiry, bool(accepted))
