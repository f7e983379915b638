"""Plain SQL on the database of a running server, SQLite or PostgreSQL.

Tests can write many rows at once this way; the cabinet writes one at a time.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from secrets import token_hex
from typing import Any

import psycopg

from readback.keys import mint

_SQLITE = "sqlite:///"
_KEYS_AT_ONCE = 2000


@dataclass(frozen=True)
class Database:
    """Runs statements with `?` as the placeholder on both kinds of database."""

    url: str

    @property
    def is_sqlite(self) -> bool:
        return self.url.startswith(_SQLITE)

    @contextmanager
    def connected(self) -> Iterator[Any]:
        if self.is_sqlite:
            path = self.url.removeprefix(_SQLITE)
            connection = sqlite3.connect(path, timeout=30, isolation_level=None)
        else:
            connection = psycopg.connect(self.url, autocommit=True)
        try:
            yield connection
        finally:
            connection.close()

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        mark = "?" if self.is_sqlite else "%s"
        with self.connected() as connection:
            done = connection.execute(statement.replace("?", mark), values)
            return done.fetchall() if done.description else []

    def value(self, statement: str, *values: Any) -> Any:
        [[value]] = self.rows(statement, *values)
        return value

    def moment(self, seconds_from_now: float) -> Any:
        """Return a time in the format that the tables use."""
        at = datetime.now(UTC) + timedelta(seconds=seconds_from_now)
        return at.strftime("%Y-%m-%d %H:%M:%S.%f") if self.is_sqlite else at

    def add_account(self, email: str) -> int:
        """Add an active account with a confirmed address; return its id."""
        self.rows(
            "INSERT INTO cabinet_user (password, email, is_active, is_staff,"
            " date_joined, language) VALUES ('!', ?, ?, ?, ?, '')",
            *(email, True, False, self.moment(0)),
        )
        account = self.value("SELECT id FROM cabinet_user WHERE email = ?", email)
        self.rows(
            'INSERT INTO account_emailaddress (user_id, email, verified, "primary")'
            " VALUES (?, ?, ?, ?)",
            *(account, email, True, True),
        )
        return int(account)

    def new_keys(self, number: int) -> list[str]:
        """Add a separate account with this many keys; return the keys."""
        made = [mint() for _ in range(number)]
        self.add_keys(self.add_account(f"alice-{token_hex(8)}@example.com"), made)
        return made

    def add_keys(self, account: int, keys: Sequence[str], rehearsal: str = "") -> None:
        """Add keys to an account, many in one statement."""
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            batch = keys[start : start + _KEYS_AT_ONCE]
            values: list[Any] = []
            for key in batch:
                digest = sha256(key.encode()).digest()
                values += [account, "", digest, key[-4:], self.moment(0), rehearsal]
            rows = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(batch))
            self.rows(
                "INSERT INTO cabinet_key (owner_id, label, digest, last_four,"
                f" created_at, rehearsal) VALUES {rows}",
                *values,
            )

    def revoke_key(self, key: str) -> None:
        statement = "UPDATE cabinet_key SET revoked_at = ? WHERE digest = ?"
        self.rows(statement, self.moment(0), sha256(key.encode()).digest())

    def explain_refusals(self, key: str) -> None:
        """Turn on explanations in the body; a worker may need a second to notice."""
        statement = "UPDATE cabinet_key SET explains_refusals = ? WHERE digest = ?"
        self.rows(statement, True, sha256(key.encode()).digest())

    def journal(self, key: str, columns: str) -> list[tuple[Any, ...]]:
        """Return these columns of the rows in a key's journal."""
        return self.rows(
            f"SELECT {columns} FROM cabinet_journalentry WHERE key_id ="
            " (SELECT id FROM cabinet_key WHERE digest = ?)",
            sha256(key.encode()).digest(),
        )

    def usage(self, key: str) -> dict[tuple[str, str], int]:
        """Return a key's counted requests by endpoint and code."""
        rows = self.rows(
            "SELECT endpoint, code, sum(requests) FROM cabinet_usage WHERE key_id ="
            " (SELECT id FROM cabinet_key WHERE digest = ?) GROUP BY endpoint, code",
            sha256(key.encode()).digest(),
        )
        return {(endpoint, code): int(count) for endpoint, code, count in rows}
