"""The database in a backup: copy it while it is in use, and put a copy in its place.

A copy contains no sessions, so whoever gets hold of an archive is logged in nowhere. A
restore replaces the file of SQLite by a rename, and the tables of PostgreSQL in one
transaction: whenever it is interrupted, the old or the new database is there. Other
tables of the same PostgreSQL database are left alone.
"""

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from readback.cabinet.serving import private_files, schema
from readback.cli.database import rows
from readback.cli.exit_codes import Failure
from readback.config import Config

_SESSIONS = ("django_session", "usersessions_usersession")
_TABLES = """
SELECT tablename FROM pg_tables
WHERE schemaname = current_schema() AND tablename ~ %s ORDER BY 1
"""
_RUNNING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name LIKE 'readback-%%' AND pid <> pg_backend_pid()
"""


def copy(config: Config, target: Path) -> None:
    """Write a copy without sessions; the service may go on."""
    if not config.sqlite_path:
        sessions = [f"--exclude-table-data=*.{name}" for name in _SESSIONS]
        ours = [f"--table={name}" for name in _tables()]
        _run(config, "pg_dump", "--format=custom", f"--file={target}", *ours, *sessions)
        return
    uri = f"{config.sqlite_path.absolute().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            # Unlike a copy of the pages, this leaves out what was deleted.
            database.execute("VACUUM INTO ?", [str(target)])
        with closing(sqlite3.connect(target)) as copied, copied:
            copied.execute("PRAGMA secure_delete = ON")
            for name in _SESSIONS:
                copied.execute(f"DELETE FROM {name}")
        check_copy(target)
    except sqlite3.Error as error:
        raise Failure(f"The database cannot be copied: {error}.") from None


def check_copy(copied: Path) -> None:
    """Raise sqlite3.Error if a copy is damaged."""
    with closing(sqlite3.connect(copied)) as database:
        [(found,)] = database.execute("PRAGMA quick_check(1)")
    if found != "ok":
        raise sqlite3.DatabaseError(f"it is damaged: {found}")


def require_free(config: Config) -> None:
    """End the command if others have the database open, or it has other tables."""
    path = config.sqlite_path
    is_used = _is_open(path) if path else rows(_RUNNING)[0][0] > 0
    if is_used:
        raise Failure("Readback uses this database: stop it first.")
    own = {*connection.introspection.django_table_names(), "django_migrations"}
    if path is None and (newer := sorted(set(_tables()) - own)):
        raise Failure(
            f"The database has tables of another version ({', '.join(newer)}), which "
            "would be left: restore into an empty database."
        )


def _is_open(path: Path) -> bool:
    """Return whether another process has the file open; change nothing in it.

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


def replace(config: Config, copied: Path) -> None:
    """Put a copy, which is on the same disk as SQLite's file, in the place of it."""
    if path := config.sqlite_path:
        copied.chmod(0o600)
        # A service that starts now waits, and one that has started is noticed.
        with schema.locked():
            require_free(config)
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            os.replace(copied, path)
            private_files.sync_directory(path.absolute().parent)
        return
    # Not with psql, which would also run the programs that a hostile dump names.
    options = ("--no-owner", "--clean", "--if-exists", "--single-transaction")
    _run(config, "pg_restore", *options, str(copied))


def _tables() -> list[str]:
    """Return our tables in PostgreSQL, those of older and newer versions included."""
    labels = sorted({"django", *(app.label for app in apps.get_app_configs())})
    return [name for (name,) in rows(_TABLES, [f"^({'|'.join(labels)})_"])]


def _run(config: Config, program: str, *options: str) -> None:
    given: dict[str, Any] = dict(conninfo_to_dict(config.effective_database_url))
    # Every user of this machine can read the arguments of a process.
    password = str(given.pop("password", "") or "")
    environment = {**os.environ, **({"PGPASSWORD": password} if password else {})}
    try:
        done = subprocess.run(
            [program, *options, f"--dbname={make_conninfo(**given)}"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except FileNotFoundError:
        raise Failure(
            f"{program} was not found: install the client programs of PostgreSQL, in "
            "the version of the server, or add their folder to the PATH."
        ) from None
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise Failure(f"{program} failed: {reason or done.returncode}")
