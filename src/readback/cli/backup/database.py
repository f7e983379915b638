"""The database in an archive: a SQLite file, whatever the installation uses.

It contains no sessions, so a stolen archive logs nobody in. A restore replaces the
SQLite file by a rename, or the rows of PostgreSQL in one transaction: if it is
interrupted, either the old or the new database is there.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.db.migrations.exceptions import InconsistentMigrationHistory as BadHistory

from readback.cabinet.storage import private_files, schema
from readback.cli.backup import postgresql
from readback.cli.exit_codes import Failure
from readback.config import Config

_FOREIGN = "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"


def copy(config: Config, target: Path) -> None:
    """Write a copy without sessions; the service may keep running."""
    try:
        if config.sqlite_path:
            _copy_file(config.sqlite_path, target)
        else:
            _require_known("the database")
            with _django_uses(target):
                call_command("migrate", interactive=False, verbosity=0)
            postgresql.export(target)
        _check(target)
    except sqlite3.Error as error:
        raise Failure(f"The database cannot be copied: {error}.") from None


def _copy_file(source: Path, target: Path) -> None:
    uri = f"{source.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True)) as database:
        # Unlike a copy of the pages, this leaves out what was deleted.
        database.execute("VACUUM INTO ?", [str(target)])
    with closing(sqlite3.connect(target)) as copied, copied:
        copied.execute("PRAGMA secure_delete = ON")
        for name in postgresql.SESSIONS:
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
    """Put a copy in place of the database; a file of SQLite is on the same disk."""
    if path := config.sqlite_path:
        copied.chmod(0o600)
        private_files.sync(copied)
        # A service that starts now waits, and one that has started is noticed.
        with schema.locked():
            require_free(config)
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            os.replace(copied, path)
            private_files.sync(path.absolute().parent)
        return
    _require_known("the database")
    schema.migrate()
    postgresql.load(copied)


def require_free(config: Config) -> None:
    """End the command if others have the database open."""
    if not config.sqlite_path:
        postgresql.require_free()
    elif _is_open(config.sqlite_path):
        raise Failure(postgresql.IN_USE)


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


def _check(copied: Path) -> None:
    """Raise sqlite3.Error if a copy is damaged, or has more than tables and indexes."""
    with closing(sqlite3.connect(copied)) as database:
        [(found,)] = database.execute("PRAGMA quick_check(1)")
        if found != "ok":
            raise sqlite3.DatabaseError(f"it is damaged: {found}")
        for kind, name in database.execute(_FOREIGN):
            raise sqlite3.DatabaseError(f"it has the {kind} {name}")


def _require_known(what: str) -> None:
    """End the command if a newer version has migrated the database in use."""
    if newer := schema.unknown(schema.applied()):
        raise Failure(
            f"A newer version of Readback has applied {', '.join(newer)} to {what}: "
            "use that version."
        )


@contextmanager
def _django_uses(file: Path) -> Iterator[None]:
    """Let Django use a file of SQLite instead of the database of the installation.

    An alias is not enough: some migrations change the default database in any case.
    """
    installed = connections[DEFAULT_DB_ALIAS]
    # The file is written to the disk when it is complete.
    options = {"init_command": "PRAGMA synchronous = OFF"}
    settings = {**installed.settings_dict, "NAME": str(file), "OPTIONS": options}
    connections[DEFAULT_DB_ALIAS] = DatabaseWrapper(settings, DEFAULT_DB_ALIAS)
    try:
        yield
    finally:
        connection.close()
        connections[DEFAULT_DB_ALIAS] = installed
