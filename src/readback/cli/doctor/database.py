"""Checks of `readback doctor`: the database, its role, what is in it, and the clock.

What is stored there is checked only if all migrations are applied. The clock is
compared with the database server's and with what is already stored, so no time server
is asked. The owner of the tables may do everything; the API may have a role of its own
in PostgreSQL, which has the privileges of deploy/postgresql/grants.sql and no others.
"""

import secrets
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from django.db import Error, ProgrammingError, connection, transaction
from django.utils import timezone

from readback.cabinet.serving import schema
from readback.cli.database import report_database_errors, rows, set_up_django
from readback.cli.doctor import CheckResult, CheckResults, fail, network, ok, warn
from readback.cli.exit_codes import CannotStart
from readback.config import Config

# What SQLite says of a file that it cannot repair.
_DAMAGED = ("malformed", "not a database")
_RESTORE = "Restore the file from a backup, or set the path of another database."
# More than any page stores at once, so that success means room for the next visitors.
_TRIED_BYTES = 256 * 1024
# Several replicas and a slow connection differ by less.
_TOLERANCE = timedelta(seconds=2)
# The codes of authenticator apps change this often.
_TOO_MUCH = timedelta(seconds=30)
_SYNCHRONIZE = "Synchronize the clocks, for example with `timedatectl set-ntp true`."
# What grants.sql gives to the API: table, privilege, and columns if not all of them. A
# test compares the two.
API_PRIVILEGES = (
    ("django_migrations", "SELECT", ""),
    ("cabinet_user", "SELECT", "id is_active"),
    ("account_emailaddress", "SELECT", "user_id verified primary"),
    (
        "cabinet_key",
        "SELECT",
        "id owner_id digest expires_at revoked_at last_used_at last_created "
        "explains_refusals",
    ),
    ("cabinet_key", "UPDATE", "last_used_at last_created"),
    ("cabinet_usage", "SELECT", ""),
    ("cabinet_usage", "INSERT", ""),
    ("cabinet_usage", "UPDATE", "requests"),
    ("cabinet_usage", "DELETE", ""),
    ("cabinet_journalentry", "SELECT", "id key_id accepted at"),
    ("cabinet_journalentry", "INSERT", ""),
    ("cabinet_journalentry", "DELETE", ""),
    ("cabinet_unmatchedrequest", "SELECT", "id at"),
    ("cabinet_unmatchedrequest", "INSERT", ""),
    ("cabinet_unmatchedrequest", "UPDATE", "requests"),
    ("cabinet_unmatchedrequest", "DELETE", ""),
    ("cabinet_networkkey", "SELECT", "key"),
)

_ROLE = """
SELECT current_user, rolsuper, current_setting('server_version'),
       COALESCE(has_schema_privilege(current_schema(), 'CREATE'), false)
FROM pg_roles WHERE rolname = current_user
"""
_OWNER = """
SELECT pg_get_userbyid(relowner), pg_has_role(relowner, 'USAGE')
FROM pg_class WHERE oid = to_regclass('django_migrations')
"""
# A table that does not exist yet has no attributes, so nothing is missing there.
_MISSING = """
SELECT needed.privilege, needed.name, needed.attribute
FROM unnest(%s::text[], %s::text[], %s::text[]) AS needed (name, privilege, attribute)
JOIN pg_attribute ON attrelid = to_regclass(needed.name)
    AND (attname = needed.attribute OR needed.attribute = '' AND attnum = 1)
WHERE NOT CASE needed.attribute
    WHEN '' THEN has_table_privilege(attrelid, needed.privilege)
    ELSE has_column_privilege(attrelid, attnum, needed.privilege) END
"""
_READ_ONLY = """
SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'
"""


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
    if not config.sqlite_path:
        yield from database_role()
    if pending := schema.pending():
        found = f"{name}: {len(pending)} pending migrations: {_first_three(pending)}"
        yield warn("database", found, "Run `readback migrate`.")
        return
    if config.sqlite_path:
        # Reads the whole file, and returns the first damage.
        [(found,)] = rows("PRAGMA quick_check(1)")
        if found != "ok":
            damage = " ".join(found.split())
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


def _first_three(names: list[str]) -> str:
    """Return the first names only: an empty database lacks every migration."""
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")


def _storage() -> CheckResult:
    """Write to the database and undo it.

    Nothing is committed. The write still reaches the disk, because the value does not
    fit into the cache that SQLite is left with.
    """
    # Importing these needs Django to be set up.
    from readback.cabinet.models import CacheEntry
    from readback.cabinet.serving import errors

    try:
        with transaction.atomic():
            if connection.vendor == "sqlite":
                rows("PRAGMA cache_size = 1")
            CacheEntry.objects.create(
                cache_key=f"doctor-{secrets.token_hex(8)}",
                value=secrets.token_hex(_TRIED_BYTES // 2),
                expires=timezone.now(),
            )
            transaction.set_rollback(True)
    except ProgrammingError as error:
        return ok("storage", f"not tried, because of {errors.reason(error)}")
    except Error as error:
        found = f"the database cannot store anything: {errors.reason(error)}"
        action = "Free space on its disk, and check that this user can write to it."
        return fail("storage", found, action)
    return ok("storage", "the database can store new data")


def clock() -> CheckResults:
    """Compare the clock with that of the database server, and with the newest row."""
    from readback.cabinet.models import JournalEntry, Key

    problems: list[CheckResult] = []
    stored: list[datetime] = []
    for times in (
        JournalEntry.objects.order_by("-id").values_list("at", flat=True),
        Key.objects.order_by("-id").values_list("created_at", flat=True),
    ):
        with suppress(ProgrammingError):  # the role of the API may not read it
            stored += times[:1]
    newest = max(stored, default=None)
    if newest and newest > datetime.now(UTC) + _TOLERANCE:
        seconds = (newest - datetime.now(UTC)).total_seconds()
        found = f"it is {seconds:.0f} s behind the newest time in the database"
        ignore = "Ignore this if the clock was wrong before, and is right now."
        problems.append(warn("clock", found, f"{_SYNCHRONIZE} {ignore}"))
    if connection.vendor == "postgresql":
        asked = datetime.now(UTC)
        [(there,)] = rows("SELECT clock_timestamp()")
        here = asked + (datetime.now(UTC) - asked) / 2
        if (difference := abs(here - there)) > _TOLERANCE:
            seconds = difference.total_seconds()
            direction = "ahead of" if here > there else "behind"
            line = fail if difference >= _TOO_MUCH else warn
            found = (
                f"it is {seconds:.0f} s {direction} the clock of the database server"
            )
            problems.append(line("clock", found, _SYNCHRONIZE))
    yield from problems or [ok("clock", "it agrees with the database")]


def database_role() -> CheckResults:
    """Check what the role may do, and whether the server or a setting prevents it."""
    yield _role()
    [(is_standby, is_default)] = rows(_READ_ONLY)
    if is_standby:
        yield fail(
            "database role",
            "this server is a standby, which cannot store anything",
            "Set READBACK_DATABASE_URL to the primary server.",
        )
    elif is_default:
        yield fail(
            "database role",
            "default_transaction_read_only is on, so nothing can be stored",
            "Turn it off for the database, the role and the server.",
        )


def _role() -> CheckResult:
    [(name, is_superuser, version, may_create)] = rows(_ROLE)
    server = f"PostgreSQL {version.split()[0]}"
    if is_superuser:
        return warn(
            "database role",
            f"{name} is a superuser, who may do anything on the server ({server})",
            "Use the roles of deploy/postgresql instead.",
        )
    owner = rows(_OWNER)
    if not owner and may_create:
        return ok("database role", f"{name} may create the tables ({server})")
    if not owner:
        return fail(
            "database role",
            f"{name} may not create tables ({server})",
            "Make it the owner of the database, as deploy/postgresql/roles.sql says.",
        )
    [(owner_name, is_owner)] = owner
    if is_owner:
        return ok("database role", f"{name} owns the tables ({server})")
    needed = [
        (table, privilege, column)
        for table, privilege, columns in API_PRIVILEGES
        for column in columns.split() or [""]
    ]
    columns = [list(column) for column in zip(*needed, strict=True)]
    missing = [
        f"{privilege} on {table}" + (f" ({column})" if column else "")
        for privilege, table, column in rows(_MISSING, columns)
    ]
    if missing:
        return fail(
            "database role",
            f"{name} lacks what the API needs: {', '.join(missing)} ({server})",
            f"Run deploy/postgresql/grants.sql as {owner_name}.",
        )
    return ok(
        "database role",
        f"{name} has what the API needs; the cabinet and the commands need "
        f"{owner_name}, who owns the tables ({server})",
    )
