"""The differences between SQLite and PostgreSQL that matter to `store.py`."""

import sqlite3
import time
from collections.abc import Generator, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from readback.config import Config

# How long to wait for a lock. After that, the next tick tries again.
_BUSY_SECONDS = 0.2
# How long PostgreSQL may take to accept a connection and to answer a statement.
_CONNECT_SECONDS = 2
_ANSWER_SECONDS = 2.0


class StoreError(Exception):
    """A statement failed; the message tells operators why.

    `permanent` means that the same statement would fail again; `busy`, that another
    process was writing.
    """

    def __init__(self, reason: str, *, permanent: bool, busy: bool = False) -> None:
        super().__init__(reason)
        self.permanent = permanent
        self.busy = busy


class Sqlite:
    """The embedded database. Django stores times in it as text in UTC."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    permanent_errors: tuple[type[Exception], ...] = (
        sqlite3.DataError,
        sqlite3.IntegrityError,
    )
    placeholder = "?"
    # This locks the whole database for writing, so rows need no locks.
    begin = "BEGIN IMMEDIATE"
    # The end of a SELECT that locks its rows and skips rows that others have locked.
    lock_skip_locked = ""
    # When a key expires, in Unix time; 0 if the column does not contain a time.
    expires_at = (
        "iif(k.expires_at IS NULL, NULL, "
        "coalesce(86400 * (julianday(k.expires_at) - 2440587.5), 0))"
    )
    # A small number, because the event loop may have to wait for a statement to end.
    rows_per_statement = 128

    _REASONS = {
        "BUSY": "another program has locked the database",
        "FULL": "the disk is full",
        "READONLY": "the database file is read-only",
        "CANTOPEN": "the database file cannot be opened",
        "IOERR": "the disk cannot be read or written",
    }
    # These errors do not close the connection, because opening the file again would
    # need the disk, too.
    _KEEP_CONNECTION = ("BUSY", "FULL", "IOERR")

    def __init__(self, path: Path) -> None:
        self._path = path

    def connect(self) -> sqlite3.Connection:
        # mode=rw, because only migrations may create a database.
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
        )
        # The migrations have set WAL, which is a property of the file. A power failure
        # may lose the latest usage and journal rows; the cabinet commits with FULL.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def among(self, digests: Sequence[bytes]) -> tuple[str, Sequence[Any]]:
        """Return an SQL expression that matches any of the digests, and its values."""
        return f"IN ({marks(digests)})", digests

    def moment(self, at: float) -> str:
        # Three times as fast as `strftime`, which matters for thousands of rows.
        return datetime.fromtimestamp(at, UTC).isoformat(" ", "microseconds")[:26]

    def survives(self, error: Exception) -> bool:
        """Return whether the connection can be used again after this error."""
        return _sqlite_kind(error) in self._KEEP_CONNECTION

    def is_busy(self, error: Exception) -> bool:
        return _sqlite_kind(error) == "BUSY"

    def reason(self, error: Exception) -> str:
        """Describe an error for operators, without any value from a statement."""
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        sentence = self._REASONS.get(_sqlite_kind(error))
        return f"{sentence} ({name})" if sentence else name


class Postgresql:
    """PostgreSQL through psycopg. No setting outlives a transaction.

    `Sqlite` describes the attributes and methods.
    """

    placeholder = "%s"
    # SET LOCAL, because other clients share the session behind PgBouncer.
    begin = "BEGIN; SET LOCAL lock_timeout = '200ms'"
    lock_skip_locked = "FOR NO KEY UPDATE SKIP LOCKED"
    # Selected as a number, because the driver cannot convert `infinity` to a datetime.
    expires_at = "extract(epoch FROM k.expires_at)::float8"
    rows_per_statement = 500

    def __init__(self, url: str) -> None:
        import psycopg

        self._url = url
        self._connection_class = _connection_with_timeout(psycopg)
        self.errors: tuple[type[Exception], ...] = (psycopg.Error,)
        self.permanent_errors: tuple[type[Exception], ...] = (
            psycopg.DataError,
            psycopg.IntegrityError,
        )

    def connect(self) -> Any:
        return self._connection_class.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=_CONNECT_SECONDS,
            application_name="readback-api",
        )

    def among(self, digests: Sequence[bytes]) -> tuple[str, Sequence[Any]]:
        # Passed as one value, because a few hundred separate values take the driver a
        # millisecond.
        written = ",".join([f'"\\\\x{digest.hex()}"' for digest in digests])
        return "= ANY(?::bytea[])", ["{" + written + "}"]

    def moment(self, at: float) -> datetime:
        return datetime.fromtimestamp(at, UTC)

    def survives(self, error: Exception) -> bool:
        return False

    def is_busy(self, error: Exception) -> bool:
        # Others have locked the rows, or this transaction was the victim of a deadlock.
        return getattr(error, "sqlstate", None) in ("55P03", "40P01")

    def reason(self, error: Exception) -> str:
        # The server's messages may quote values from a statement. The driver's messages
        # name the host, the user and the database, but no password.
        state = getattr(error, "sqlstate", None)
        name = type(error).__name__
        words = " ".join(str(error).split())
        return f"{name} ({state})" if state else f"{name}: {words}"


def dialect(config: Config) -> Sqlite | Postgresql:
    if config.sqlite_path:
        return Sqlite(config.sqlite_path.absolute())
    return Postgresql(config.effective_database_url)


def marks(values: Iterable[Any]) -> str:
    return ", ".join("?" for _ in values)


def _sqlite_kind(error: Exception) -> str:
    """Return the kind of error, such as IOERR for SQLITE_IOERR_WRITE."""
    name: str = getattr(error, "sqlite_errorname", "")
    return name.removeprefix("SQLITE_").partition("_")[0]


def _connection_with_timeout(psycopg: Any) -> Any:
    """Return a connection class that does not wait forever for the server.

    The kernel of a server that hangs still acknowledges our bytes, so TCP does not time
    out.
    """

    class ConnectionWithTimeout(psycopg.Connection):  # type: ignore[misc]
        def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
            no_answer = psycopg.OperationalError("no answer from the server")
            return super().wait(_in_time(gen, no_answer), *arguments, **named)

    return ConnectionWithTimeout


def _in_time(
    gen: Generator[Any, Any, Any], no_answer: Exception
) -> Generator[Any, Any, Any]:
    """Run the driver's generator until it ends or its time is up."""
    deadline = time.monotonic() + _ANSWER_SECONDS
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise no_answer
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value
