"""The state of the database schema: list pending migrations and apply them.

Any number of processes and replicas may do this at the same time.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from readback.cabinet.storage import private_files

# The number of PostgreSQL's advisory lock: "readback" in ASCII.
_LOCK_NUMBER = int.from_bytes(b"readback")
# `migrate` applies this one if the database is empty.
FIRST_MIGRATION = "cabinet.0001_initial"


def migrate() -> list[str]:
    """Apply the pending migrations and return their names."""
    with locked():
        path = settings.CONFIG.sqlite_path
        if path and not path.exists():
            # SQLite would create a file that others can read.
            private_files.create(path).close()
        names = pending()
        if names:
            call_command("migrate", interactive=False, verbosity=0)
        return names


def pending() -> list[str]:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def unknown() -> list[str]:
    """Return the applied migrations that only a newer version has."""
    on_disk = MigrationLoader(None).disk_migrations
    known = {".".join(name) for name in on_disk}
    migrated_apps = tuple({f"{app}." for app, _name in on_disk})
    newer = applied() - known
    return sorted(name for name in newer if name.startswith(migrated_apps))


def applied() -> set[str]:
    recorded = MigrationRecorder(connection).applied_migrations()
    return {f"{app}.{name}" for app, name in recorded}


@contextmanager
def locked() -> Iterator[None]:
    """Hold a lock that all processes and replicas share.

    On PostgreSQL, a transaction on a separate connection holds it: each migration has
    its own transaction, and behind PgBouncer a session's lock would be lost.
    """
    if database := settings.CONFIG.sqlite_path:
        try:
            private_files.make_directory(database.parent)
            file = private_files.create(database.with_name(f"{database.name}.lock"))
        except OSError as error:
            raise OperationalError(f"{error.filename}: {error.strerror}") from None
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        return
    lock_connection = connection.copy()
    try:
        lock_connection.set_autocommit(False)
        with lock_connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_NUMBER])
        yield
    finally:
        lock_connection.close()
