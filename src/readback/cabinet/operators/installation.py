"""The versions of this cabinet and the state of its database, for operators."""

import platform
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import allauth
import django
from django.conf import settings
from django.db import connection

from readback import __version__
from readback.cabinet.serving import schema


class DatabaseFacts(NamedTuple):
    # The kind and the version, such as "PostgreSQL 17.2".
    name: str
    bytes: int
    pending_migrations: list[str]


def versions() -> dict[str, str]:
    """Return the version of each part of the cabinet, by name."""
    return {
        "Readback": __version__,
        "Python": platform.python_version(),
        "Django": django.__version__,
        "django-allauth": allauth.__version__,
    }


def database_facts() -> DatabaseFacts:
    is_sqlite = connection.vendor == "sqlite"
    name = _sqlite_name() if is_sqlite else _postgresql_name()
    size = _sqlite_bytes() if is_sqlite else _postgresql_bytes()
    return DatabaseFacts(name, size, schema.pending())


def _sqlite_name() -> str:
    version = connection.Database.sqlite_version  # type: ignore[attr-defined]
    return f"SQLite {version}"


def _postgresql_name() -> str:
    [version] = _row("SHOW server_version")
    # Distributions add their own words: "17.2 (Debian 17.2-1.pgdg120+1)".
    return f"PostgreSQL {version.split()[0]}"


def _postgresql_bytes() -> int:
    [size] = _row("SELECT pg_database_size(current_database())")
    return int(size)


def _sqlite_bytes() -> int:
    """Return the size of the database with its write-ahead log."""
    path: Path = settings.CONFIG.sqlite_path  # type: ignore[assignment]
    size = 0
    for file in (path, path.with_name(f"{path.name}-wal")):
        with suppress(FileNotFoundError):  # the log may end at any moment
            size += file.stat().st_size
    return size


def _row(statement: str) -> tuple[str, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row: tuple[str, ...] = cursor.fetchone()
        return row
