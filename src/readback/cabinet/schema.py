"""The state of the database: is it migrated, and bring it there, one at a time.

Django's migrations own the schema. Here they are run under a lock, so that any
number of processes and replicas may start at once.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

# "readback" in ASCII: the number of PostgreSQL's advisory lock.
_LOCK_NUMBER = int.from_bytes(b"readback")
_FIRST_MIGRATION = "cabinet.0001_initial"


def migrate() -> list[str]:
    """Apply what is pending and name it; who comes second finds nothing to do."""
    with locked():
        names = pending()
        if names:
            call_command("migrate", interactive=False, verbosity=0)
        return names


def is_new(applied: list[str]) -> bool:
    """Tell from what `migrate` has applied whether the database was empty."""
    return _FIRST_MIGRATION in applied


def pending() -> list[str]:
    """Name the migrations that are not applied yet."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


@contextmanager
def locked() -> Iterator[None]:
    """Be the only one who changes what all replicas share."""
    path = settings.CONFIG.sqlite_path
    with _file_lock(path) if path else _advisory_lock():
        yield


@contextmanager
def _file_lock(database: Path) -> Iterator[None]:
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
        file = database.with_name(f"{database.name}.lock").open("w")
    except OSError as error:
        raise OperationalError(str(error)) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _advisory_lock() -> Iterator[None]:
    """Hold a lock in a transaction of a connection of its own.

    A session's lock would be lost behind PgBouncer in transaction mode, and each
    migration is a transaction of its own.
    """
    keeper = connection.copy()
    try:
        keeper.set_autocommit(False)
        with keeper.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_NUMBER])
        yield
    finally:
        keeper.close()
