"""PostgreSQL: dump and restore our tables with its own programs.

The programs must have the major version of the server: a dump of a newer one may use
words that the server does not know. A restore is one transaction, so whenever it is
interrupted, nothing has changed. Other tables in the database are left alone.
"""

import glob
import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import transaction
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from readback.cabinet.serving import schema
from readback.cli.backup.archive import Manifest
from readback.cli.backup.sqlite import ID_GAP, LINKED_TABLES, SESSION_TABLES
from readback.cli.database import rows
from readback.cli.exit_codes import Failure
from readback.cli.supervisor import stop_with_parent

_INSTALLED = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/*/bin",
)
_TABLES = """
SELECT format('%%I.%%I', schemaname, tablename) FROM pg_tables
WHERE schemaname = current_schema() AND tablename ~ %s ORDER BY 1
"""
_ROLES = """
SELECT DISTINCT grantee FROM information_schema.column_privileges
WHERE table_schema = current_schema() AND table_name ~ %s
    AND grantee NOT IN (current_user, 'PUBLIC')
"""
_RUNNING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name LIKE 'readback-%%' AND pid <> pg_backend_pid()
"""
# All at once: locked one after the other, they could be in the way of a transaction of
# the service, which PostgreSQL would resolve by ending one of the two.
_REPLACE = """
DO $$ BEGIN
    LOOP
        BEGIN
            LOCK TABLE {first} IN ACCESS EXCLUSIVE MODE;
            LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE NOWAIT;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.05);
        END;
    END LOOP;
END $$;
DROP TABLE {tables} CASCADE;
"""
_LEAVE_GAP = """
SELECT setval(pg_get_serial_sequence('{0}', 'id'),
              (SELECT {1} + coalesce(max(id), 0) FROM {0}));
"""


def is_in_use() -> bool:
    """Return whether a plane is connected to the database."""
    return bool(rows(_RUNNING)[0][0])


def tables() -> list[str]:
    return [name for (name,) in rows(_TABLES, [_names()])]


def copy(url: str, target: Path) -> dict[str, Any]:
    """Dump the tables; return what the manifest says of the same moment."""
    with transaction.atomic():
        rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        [[snapshot]] = rows("SELECT pg_export_snapshot()")
        options = ("--format=custom", f"--snapshot={snapshot}", f"--file={target}")
        without = [f"--exclude-table-data=*.{name}" for name in SESSION_TABLES]
        chosen = [f"--table={name}" for name in tables()]
        _run(url, "pg_dump", *options, *chosen, *without)
        return {
            "database": "postgresql",
            "database_version": str(_server_version()),
            "migrations": sorted(schema.applied()),
            "roles": sorted(name for (name,) in rows(_ROLES, [_names()])),
        }


def prepare(url: str, copied: Path, manifest: Manifest) -> Path:
    """Return a script that replaces the tables; this reads the whole dump."""
    if int(manifest.database_version) > (version := _server_version()):
        raise Failure(
            f"The archive is of {manifest.database_name}, and this server is older "
            f"({version}): use a server of that version or a newer one."
        )
    known = {name for (name,) in rows("SELECT rolname FROM pg_roles")}
    if missing := sorted(set(manifest.roles) - known):
        raise Failure(
            f"The archive has privileges for {', '.join(missing)}, which this server "
            "lacks: create the role first, as deploy/postgresql/roles.sql does."
        )
    script = copied.with_suffix(".sql")
    options = ("--no-owner", f"--file={script}", str(copied))
    _run(url, "pg_restore", *options, connect=False)
    return script


def replace(url: str, script: Path) -> None:
    """Replace the tables in one transaction, whether or not the service is running."""
    first, last = script.with_name("first.sql"), script.with_name("last.sql")
    old = tables()
    first.write_text(
        _REPLACE.format(first=old[0], tables=", ".join(old)) if old else ""
    )
    gaps = (_LEAVE_GAP.format(name, ID_GAP) for name in LINKED_TABLES)
    last.write_text(f"RESET search_path;{''.join(gaps)}")
    files = [f"--file={path}" for path in (first, script, last)]
    options = ("--quiet", "--no-psqlrc", "--single-transaction")
    _run(url, "psql", *options, "--set=ON_ERROR_STOP=1", *files)


def _server_version() -> int:
    """Return the major version of the server, such as 17."""
    [[number]] = rows("SELECT current_setting('server_version_num')::int")
    return int(number) // 10000


def _names() -> str:
    """Return the pattern of our tables' names, in older and newer versions, too."""
    labels = sorted({"django", *(app.label for app in apps.get_app_configs())})
    return f"^({'|'.join(labels)})_"


def _run(url: str, program: str, *options: str, connect: bool = True) -> None:
    given: dict[str, Any] = dict(conninfo_to_dict(url))
    # Every user of this machine can read the arguments of a process.
    password = str(given.pop("password", "") or "")
    where = [f"--dbname={make_conninfo(**given)}"] if connect else []
    secret = {"PGPASSWORD": password} if password else {}
    process = subprocess.Popen(
        [str(_folder(_server_version()) / program), *options, *where],
        env={**os.environ, **secret},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=stop_with_parent,  # noqa: PLW1509 – no other thread holds a lock
    )
    try:
        _, errors = process.communicate()
    except BaseException:
        # Not killed: it tells the server to cancel what it waits for.
        process.terminate()
        process.wait()
        raise
    if process.returncode:
        [reason, *_] = [*errors.splitlines(), f"exit code {process.returncode}"]
        raise Failure(f"{program} failed: {reason}")


def _folder(version: int) -> Path:
    """Return the folder with the programs of this version of PostgreSQL."""
    beside = [folder for pattern in _INSTALLED for folder in glob.glob(pattern)]
    found = set()
    for folder in dict.fromkeys([*os.get_exec_path(), *sorted(beside)]):
        command = [f"{folder}/pg_dump", "--version"]
        with suppress(OSError):  # there are none
            told = subprocess.run(command, capture_output=True, text=True).stdout
            if match := re.search(r"\) (\d+)", told):
                if int(match[1]) == version:
                    return Path(folder)
                found.add(match[1])
    known = f"only those of {' and '.join(sorted(found))}" if found else "none"
    raise Failure(
        f"The database server is PostgreSQL {version}. This needs pg_dump, pg_restore "
        f"and psql of the same version, and this machine has {known}: install them, on "
        f"Debian with `apt install postgresql-client-{version}`, or add their folder "
        "to the PATH."
    )
