"""Checks of `readback doctor`: whether the database can be used, and what is in it.

What is stored there is checked only if all migrations are applied.
"""

from readback.cli import django_setup
from readback.cli.doctor import clock, database_role, mail
from readback.cli.doctor.report import CheckResult, CheckResults, fail, ok, warn
from readback.cli.exit_codes import CannotStart
from readback.config import Config


def database(config: Config) -> CheckResults:
    try:
        with django_setup.report_database_errors():
            yield from _database(config)
    except CannotStart as error:
        action = "Check READBACK_DATABASE_URL, and that the database is running."
        yield fail("database", error.message, action)


def _database(config: Config) -> CheckResults:
    name = str(config.sqlite_path or "PostgreSQL")
    if config.sqlite_path and not config.sqlite_path.exists():
        yield ok("database", f"`readback serve` will create {name}")
        return
    django_setup.set_up_django(needs_secret_key=False)
    from readback.cabinet import schema

    if not config.sqlite_path:
        yield from database_role.database_role()
    pending = schema.pending()
    if pending:
        found = f"{name}: {len(pending)} pending migrations: {_first_three(pending)}"
        yield warn("database", found, "Run `readback migrate`.")
        return
    yield ok("database", f"{name} is reachable and up to date")
    yield _storage()
    yield from clock.clock()
    yield mail.outbox()


def _first_three(names: list[str]) -> str:
    """Return the first names only: an empty database lacks every migration."""
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")


def _storage() -> CheckResult:
    from django.db import Error, ProgrammingError

    from readback.cabinet import storage

    try:
        storage.try_to_write()
    except ProgrammingError as error:
        return ok("storage", f"not tried, because of {storage.reason(error)}")
    except Error as error:
        found = f"the database cannot store anything: {storage.reason(error)}"
        action = "Free space on its disk, and check that this user can write to it."
        return fail("storage", found, action)
    return ok("storage", "the database can store new data")
