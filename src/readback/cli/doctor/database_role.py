"""Checks of `readback doctor`: whether the role of PostgreSQL may do what it has to.

The owner of the tables may do everything; the API may have a role of its own, which has
the privileges of deploy/postgresql/grants.sql and no others.
"""

from typing import Any

from readback.cli.doctor.report import CheckResult, CheckResults, fail, ok, warn

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
    ("cabinet_unmatchedrequest", "SELECT", ""),
    ("cabinet_unmatchedrequest", "INSERT", ""),
    ("cabinet_unmatchedrequest", "UPDATE", ""),
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


def database_role() -> CheckResults:
    yield _role()
    yield from _read_only()


def _role() -> CheckResult:
    [(name, is_superuser, version, may_create)] = _rows(_ROLE)
    server = f"PostgreSQL {version.split()[0]}"
    if is_superuser:
        return warn(
            "database role",
            f"{name} is a superuser, who may do anything on the server ({server})",
            "Use the roles of deploy/postgresql instead.",
        )
    owner = _rows(_OWNER)
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
    return _for_the_api(name, server, owner_name)


def _read_only() -> CheckResults:
    """Fail if nothing can be stored because of the server or a setting."""
    [(is_standby, is_default)] = _rows(_READ_ONLY)
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


def _for_the_api(name: str, server: str, owner: str) -> CheckResult:
    needed = [
        (table, privilege, column)
        for table, privilege, columns in API_PRIVILEGES
        for column in columns.split() or [""]
    ]
    columns = [list(column) for column in zip(*needed, strict=True)]
    missing = [
        f"{privilege} on {table}" + (f" ({column})" if column else "")
        for privilege, table, column in _rows(_MISSING, columns)
    ]
    if missing:
        return fail(
            "database role",
            f"{name} lacks what the API needs: {', '.join(missing)} ({server})",
            f"Run deploy/postgresql/grants.sql as {owner}.",
        )
    return ok(
        "database role",
        f"{name} has what the API needs; the cabinet and the commands need {owner}, "
        f"who owns the tables ({server})",
    )


def _rows(statement: str, values: list[Any] | None = None) -> list[Any]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
