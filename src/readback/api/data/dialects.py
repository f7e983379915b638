"""How SQLite and PostgreSQL differ for the statements of `store.py`.

How to connect, how to write a moment, how to begin a transaction, how to hold a row,
and what an error means. No statement of the service stands here.
"""

import sqlite3
import time
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from readback.config import Config

# A writer waits so long for another one, and comes again with the next round: the
# clerk has more to do than to wait.
_BUSY_SECONDS = 0.2
# PostgreSQL has so long to let us in, and to answer a statement. The statements are
# small, so silence means that it hangs or cannot be reached.
_CONNECT_SECONDS = 2
_ANSWER_SECONDS = 2.0


class Dialect(Protocol):
    errors: tuple[type[Exception], ...]
    # Errors that the same statement would meet for ever.
    permanent_errors: tuple[type[Exception], ...]
    begin: str
    # How to hold rows that are selected: all of them, or those that are free.
    hold: str
    lock_skip_locked: str
    # How many keys to ask about at once.
    keys_per_statement: int

    def connect(self) -> Any:
        """Open a connection that commits every statement by itself."""

    def statement(self, text: str) -> str:
        """Write a statement as the driver wants it."""

    def among(self, digests: Sequence[bytes]) -> tuple[str, Sequence[Any]]:
        """Say that a column is one of many digests, and give the values for it."""

    def moment(self, at: float) -> Any:
        """Give a moment as the column has it."""

    def seconds(self, moment: Any) -> float:
        """Read a moment."""

    def survives(self, error: Exception) -> bool:
        """Tell whether the connection is worth keeping after an error."""

    def is_lost(self, connection: Any) -> bool:
        """Tell whether the other side has ended the connection."""

    def reason(self, error: Exception) -> str:
        """Say to an operator what is wrong, without any value of a statement."""


class Sqlite:
    """The embedded database: Django writes moments as text in UTC."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    permanent_errors: tuple[type[Exception], ...] = (
        sqlite3.DataError,
        sqlite3.IntegrityError,
    )
    # Takes the only writer's place at once, so no row needs to be held.
    begin = "BEGIN IMMEDIATE"
    hold = lock_skip_locked = ""
    # Few: the statement runs in this process, and the event loop may have to wait for
    # the end of it to get its core back.
    keys_per_statement = 128

    _REASONS = {
        "BUSY": "another program keeps it locked",
        "FULL": "the disk is full",
        "READONLY": "the file is read-only",
        "CANTOPEN": "the file cannot be opened",
        "IOERR": "the disk cannot be read or written",
    }
    # With these, to open the file again would only be worse: it needs the disk.
    _PASSING = ("BUSY", "FULL", "IOERR")

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
        # WAL is a property of the file, and the migrations have set it.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def statement(self, text: str) -> str:
        return text

    def among(self, digests: Sequence[bytes]) -> tuple[str, Sequence[Any]]:
        # Filled up to a power of two: the statement then comes in few lengths, and
        # need not be compiled each time, which takes longer than to run it.
        filled = list(digests)
        while len(filled) & (len(filled) - 1):
            filled.append(filled[-1])
        return f"IN ({', '.join('?' * len(filled))})", filled

    def moment(self, at: float) -> str:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")

    def seconds(self, moment: str) -> float:
        return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()

    def survives(self, error: Exception) -> bool:
        return _sqlite_kind(error) in self._PASSING

    def is_lost(self, connection: Any) -> bool:
        return False

    def reason(self, error: Exception) -> str:
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        sentence = self._REASONS.get(_sqlite_kind(error))
        return f"{sentence} ({name})" if sentence else name


class Postgresql:
    """PostgreSQL through psycopg; nothing here outlives a transaction."""

    # SET LOCAL, since behind PgBouncer a session is not ours.
    begin = "BEGIN; SET LOCAL lock_timeout = '200ms'"
    hold = "FOR NO KEY UPDATE"
    lock_skip_locked = "FOR NO KEY UPDATE SKIP LOCKED"
    keys_per_statement = 500

    def __init__(self, url: str) -> None:
        import psycopg

        self._url = url
        self._connection_class = _impatient(psycopg)
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

    def statement(self, text: str) -> str:
        return text.replace("?", "%s")

    def among(self, digests: Sequence[bytes]) -> tuple[str, Sequence[Any]]:
        # One value: the driver takes a millisecond for a few hundred, and holds up
        # the event loop meanwhile.
        written = ",".join([f'"\\\\x{digest.hex()}"' for digest in digests])
        return "= ANY(?::bytea[])", ["{" + written + "}"]

    def moment(self, at: float) -> datetime:
        return datetime.fromtimestamp(at, UTC)

    def seconds(self, moment: datetime) -> float:
        return moment.timestamp()

    def survives(self, error: Exception) -> bool:
        return False

    def is_lost(self, connection: Any) -> bool:
        return bool(connection.broken)

    def reason(self, error: Exception) -> str:
        # What the server says of a statement may quote its values. What the driver
        # says of the connection names host, user and database, and no password.
        state = getattr(error, "sqlstate", None)
        kind = type(error).__name__
        words = " ".join(str(error).split())
        return f"{kind} ({state})" if state else f"{kind}: {words}"


def dialect(config: Config) -> Dialect:
    if config.sqlite_path:
        return Sqlite(config.sqlite_path.absolute())
    return Postgresql(config.effective_database_url)


def _sqlite_kind(error: Exception) -> str:
    """Give FULL for SQLITE_FULL, IOERR for SQLITE_IOERR_WRITE."""
    name: str = getattr(error, "sqlite_errorname", "")
    return name.removeprefix("SQLITE_").partition("_")[0]


def _impatient(psycopg: Any) -> Any:
    """Make a class of connections that give up on a server that says nothing.

    A server that hangs still has a kernel that acknowledges our bytes, so neither
    TCP nor the server's own time-outs would ever end the wait.
    """

    class Impatient(psycopg.Connection):  # type: ignore[misc]
        def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
            silence = psycopg.OperationalError("no answer from the server")
            return super().wait(_in_time(gen, silence), *arguments, **named)

    return Impatient


def _in_time(
    gen: Generator[Any, Any, Any], silence: Exception
) -> Generator[Any, Any, Any]:
    """Go on with a generator of the driver until it ends or time is up.

    The driver sends what the socket is ready for; every tenth of a second, nothing.
    """
    deadline = time.monotonic() + _ANSWER_SECONDS
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise silence
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value
