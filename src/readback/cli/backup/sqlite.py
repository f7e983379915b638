"""SQLite: copy the database while it is in use, and put a copy in its place.

A restore replaces the file, or its content in one transaction if the service is
running: whenever it is interrupted, either the old or the new database is there.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from readback.cli.exit_codes import Failure

_LOCK_SECONDS = 60
# Nobody may continue somebody's session with an archive.
SESSION_TABLES = ("django_session", "usersessions_usersession")
# People and addresses: links in e-mails name them by their ids.
LINKED_TABLES = ("cabinet_user", "account_emailaddress")
# No installation gives out this many between two backups.
ID_GAP = 1_000_000


def copy(path: Path, target: Path) -> dict[str, Any]:
    """Copy a database that others may be using; return what the manifest says of it."""
    try:
        uri = f"{path.as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            # Unlike a copy of the pages, this leaves out what was deleted.
            database.execute("VACUUM INTO ?", [str(target)])
        _leave_out_sessions(target)
        migrations = _migrations(target)
    except sqlite3.Error as error:
        raise Failure(f"The database cannot be copied: {error}.") from None
    return {
        "database": "sqlite",
        "database_version": sqlite3.sqlite_version,
        "migrations": migrations,
        "roles": [],
    }


def _leave_out_sessions(copied: Path) -> None:
    with closing(sqlite3.connect(copied)) as database, database:
        database.execute("PRAGMA secure_delete=ON")  # not only from the index
        for table in SESSION_TABLES:
            database.execute(f"DELETE FROM {table}")


def check_copy(copied: Path) -> None:
    try:
        _migrations(copied)
    except sqlite3.Error as error:
        raise Failure(f"The archive's database cannot be used: {error}.") from None


def _migrations(path: Path) -> list[str]:
    """Return the migrations of a copy; raise sqlite3.Error if it is damaged."""
    with closing(sqlite3.connect(path)) as database:
        [(found,)] = database.execute("PRAGMA quick_check(1)")
        if found != "ok":
            raise sqlite3.DatabaseError(f"it is damaged: {found}")
        rows = database.execute("SELECT app, name FROM django_migrations ORDER BY id")
        return [f"{app}.{name}" for app, name in rows]


def is_in_use(path: Path) -> bool:
    """Return whether another process has the database open; change nothing in it.

    If not, closing it writes its log into the file: otherwise SQLite would later apply
    the old log to a new file.
    """
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=1)) as database:
        try:
            database.execute("PRAGMA locking_mode=EXCLUSIVE")
            database.execute("BEGIN IMMEDIATE")
            database.rollback()
        except sqlite3.OperationalError as error:
            return "locked" in str(error)
        except sqlite3.DatabaseError:  # damaged, which is why it is replaced
            return False
    return False


def replace(copied: Path, path: Path) -> None:
    """Move a copy, which is on the same disk, to where the database belongs."""
    _leave_gap(copied)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    copied.chmod(0o600)
    os.replace(copied, path)


def replace_content(copied: Path, path: Path) -> None:
    """Replace the content of a database in use, in one transaction."""
    _leave_gap(copied)
    try:
        with (
            closing(sqlite3.connect(copied)) as source,
            closing(sqlite3.connect(path, timeout=_LOCK_SECONDS)) as target,
        ):
            source.backup(target)
    except sqlite3.Error as error:
        raise Failure(f"The database was not restored: {error}.") from None


def _leave_gap(copied: Path) -> None:
    """Do not give out again what was given out after the backup."""
    marks = ", ".join("?" * len(LINKED_TABLES))
    with closing(sqlite3.connect(copied)) as database, database:
        database.execute(
            f"UPDATE sqlite_sequence SET seq = seq + {ID_GAP} WHERE name IN ({marks})",
            LINKED_TABLES,
        )
