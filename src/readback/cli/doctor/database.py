"""Checks of `readback doctor`: the database, what is in it, and the clock.

What is stored there is checked only if all migrations are applied. The clock is
compared with the database server's and with what is already stored, so no time server
is asked.
"""

from datetime import UTC, datetime, timedelta

from readback.cli.database import report_database_errors, set_up_django
from readback.cli.doctor import database_role, network
from readback.cli.doctor.report import CheckResult, CheckResults, fail, ok, warn
from readback.cli.exit_codes import CannotStart
from readback.config import Config

# What SQLite says of a file that it cannot repair.
_DAMAGED = ("malformed", "not a database")
_RESTORE = "Restore the file from a backup, or set the path of another database."
# Several replicas and a slow connection differ by less.
_TOLERANCE = timedelta(seconds=2)
# The codes of authenticator apps change this often.
_TOO_MUCH = timedelta(seconds=30)
_SYNCHRONIZE = "Synchronize the clocks, for example with `timedatectl set-ntp true`."


def database(config: Config) -> CheckResults:
    try:
        with report_database_errors():
            yield from _database(config)
    except CannotStart as error:
        action = "Check the path of the file, and that this user can read and write it."
        if not config.sqlite_path:
            action = "Check READBACK_DATABASE_URL, and that the database is running."
        elif any(words in error.message for words in _DAMAGED):
            action = _RESTORE
        yield fail("database", error.message, action)


def _database(config: Config) -> CheckResults:
    name = str(config.sqlite_path or "PostgreSQL")
    if config.sqlite_path and not config.sqlite_path.exists():
        yield ok("database", f"`readback serve` will create {name}")
        return
    set_up_django(needs_secret_key=False)
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
    if newer := schema.unknown():
        yield warn(
            "database",
            f"{name}: a newer version has applied {_first_three(newer)}",
            "Ignore this during an upgrade; otherwise install the newer version.",
        )
    else:
        yield ok("database", f"{name} is reachable and up to date")
    yield _storage()
    yield from clock()
    yield network.outbox()


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


def clock() -> CheckResults:
    """Compare the clock with the migrated database."""
    from django.db import connection

    results = [_behind_the_newest_row()]
    if connection.vendor == "postgresql":
        results.append(_against_the_server())
    problems = [result for result in results if result is not None]
    if problems:
        yield from problems
        return
    yield ok("clock", "it agrees with the database")


def _against_the_server() -> CheckResult | None:
    from django.db import connection

    with connection.cursor() as cursor:
        asked = datetime.now(UTC)
        cursor.execute("SELECT clock_timestamp()")
        [(there,)] = cursor.fetchall()
        here = asked + (datetime.now(UTC) - asked) / 2
    difference = here - there
    if abs(difference) <= _TOLERANCE:
        return None
    direction = "ahead of" if difference > timedelta() else "behind"
    seconds = abs(difference).total_seconds()
    found = f"it is {seconds:.0f} s {direction} the clock of the database server"
    line = fail if abs(difference) >= _TOO_MUCH else warn
    return line("clock", found, _SYNCHRONIZE)


def _behind_the_newest_row() -> CheckResult | None:
    newest = _newest()
    if newest is None or newest <= datetime.now(UTC) + _TOLERANCE:
        return None
    seconds = (newest - datetime.now(UTC)).total_seconds()
    return warn(
        "clock",
        f"it is {seconds:.0f} s behind the newest time in the database",
        f"{_SYNCHRONIZE} Ignore this if the clock was wrong before, and is right now.",
    )


def _newest() -> datetime | None:
    """Return when the newest request was made or the newest key was created."""
    from django.db import ProgrammingError

    from readback.cabinet.models import JournalEntry, Key

    found: list[datetime] = []
    for times in (
        JournalEntry.objects.order_by("-id").values_list("at", flat=True),
        Key.objects.order_by("-id").values_list("created_at", flat=True),
    ):
        try:
            found += times[:1]
        except ProgrammingError:  # the role of the API may not read it
            continue
    return max(found, default=None)
