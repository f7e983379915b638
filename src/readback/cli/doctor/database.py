"""Checks of `readback doctor`: whether the database can be used, and what is in it.

What is stored there is checked only if all migrations are applied.
"""

from readback.cli import django_setup
from readback.cli.doctor import clock, database_role, mail
from readback.cli.doctor.report import CheckResult, CheckResults, fail, ok, warn
from readback.cli.exit_codes import CannotStart
from readback.config import Config

# What SQLite says of a file that it cannot repair.
_DAMAGED = ("malformed", "not a database")
_RESTORE = "Restore the file from a backup, or set the path of another database."


def database(config: Config) -> CheckResults:
    try:
        with django_setup.report_database_errors():
            yield from _database(config)
    except CannotStart as error:
        yield fail("database", error.message, _action(config, error.message))


def _action(config: Config, message: str) -> str:
    if not config.sqlite_path:
        return "Check READBACK_DATABASE_URL, and that the database is running."
    if any(words in message for words in _DAMAGED):
        return _RESTORE
    return "Check the path of the file, and that this user can read and write it."


def _database(config: Config) -> CheckResults:
    name = str(config.sqlite_path or "PostgreSQL")
    if config.sqlite_path and not config.sqlite_path.exists():
        yield ok("database", f"`readback serve` will create {name}")
        return
    django_setup.set_up_django(needs_secret_key=False)
    from readback.cabinet.serving import schema

    if not config.sqlite_path:
        yield from database_role.database_role()
    pending = schema.pending()
    if pending:
        found = f"{name}: {len(pending)} pending migrations: {_first_three(pending)}"
        yield warn("database", found, "Run `readback migrate`.")
        return
    if config.sqlite_path and (damage := _damage()):
        yield fail("database", f"{name} is damaged: {damage}", _RESTORE)
        return
    yield _up_to_date(name)
    yield _storage()
    yield from clock.clock()
    yield mail.outbox()


def _up_to_date(name: str) -> CheckResult:
    from readback.cabinet.serving import schema

    if newer := schema.unknown():
        return warn(
            "database",
            f"{name}: a newer version has applied {_first_three(newer)}",
            "Ignore this during an upgrade; otherwise install the newer version.",
        )
    return ok("database", f"{name} is reachable and up to date")


def _damage() -> str:
    """Read the whole SQLite file; return the first damage, if any."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check(1)")
        [(found,)] = cursor.fetchall()
    return "" if found == "ok" else " ".join(found.split())


def _first_three(names: list[str]) -> str:
    """Return the first names only: an empty database lacks every migration."""
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")


def _storage() -> CheckResult:
    from django.db import Error, ProgrammingError

    from readback.cabinet.serving import outages

    try:
        outages.try_to_write()
    except ProgrammingError as error:
        return ok("storage", f"not tried, because of {outages.reason(error)}")
    except Error as error:
        found = f"the database cannot store anything: {outages.reason(error)}"
        action = "Free space on its disk, and check that this user can write to it."
        return fail("storage", found, action)
    return ok("storage", "the database can store new data")
