"""The state of the API, and the versions and the database of this cabinet.

The API is asked one question, at its ops listener, and has a second to answer. It may
run elsewhere, hang or be something else entirely, so the question is asked in a thread
of its own and never fails.
"""

import platform
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import allauth
import django
import msgspec
from django.conf import settings
from django.db import connection

from readback import __version__, http_client
from readback.cabinet.models import LastBackup
from readback.cabinet.serving import schema
from readback.http_client import NoFreeSlot, Slots
from readback.setting_values import Bind

TIMEOUT_SECONDS = 1.0

# Up to the last second of the year 9999.
_Number = Annotated[int, msgspec.Meta(ge=0, le=253_402_300_799)]
_Text = Annotated[str, msgspec.Meta(max_length=300)]

# Twice the threads for pages: a host name whose look-up hangs keeps its thread.
_slots = Slots(16)


class ApiStatus(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `/status`."""

    status: Literal["ready", "not ready", "stopping"]
    errors: Annotated[list[_Text], msgspec.Meta(max_length=8)]
    version: _Text
    started_at: _Number
    workers: _Number
    open_connections: _Number

    @property
    def since(self) -> datetime:
        return datetime.fromtimestamp(self.started_at, UTC)


class ApiReport(NamedTuple):
    """What was heard at the address of the ops listener."""

    address: str
    status: ApiStatus | None = None
    # Something has answered, but not as the API does.
    is_strange: bool = False


class ApiQuestion:
    """A question that is on its way; ask it first and read the report last."""

    def __init__(self, bind: Bind) -> None:
        self._bind = bind
        self._deadline = time.monotonic() + TIMEOUT_SECONDS
        self._answer = _slots.start(partial(_ask, bind))

    def report(self) -> ApiReport:
        report = ApiReport(str(self._bind))
        try:
            left = max(self._deadline - time.monotonic(), 0.001)
            return report._replace(status=self._answer.result(left))
        except (HTTPException, msgspec.MsgspecError, ValueError, RecursionError):
            return report._replace(is_strange=True)
        except (OSError, NoFreeSlot):
            return report  # which says that nothing has answered


def _ask(bind: Bind) -> ApiStatus:
    """Return the status; raise an error if that is not what was answered."""
    address = (socket.AF_UNIX, bind.path) if bind.path else None
    origin = "http://localhost" if bind.path else bind.origin
    code, body = http_client.get(f"{origin}/status", TIMEOUT_SECONDS, address)
    if code != HTTPStatus.OK:
        raise ValueError("not the answer of an API of this version")
    return msgspec.json.decode(body, type=ApiStatus)


class DatabaseFacts(NamedTuple):
    # The kind and the version, such as "PostgreSQL 17.2".
    name: str
    bytes: int
    pending_migrations: list[str]
    last_backup: datetime | None


def versions() -> dict[str, str]:
    return {
        "Readback": __version__,
        "Python": platform.python_version(),
        "Django": django.__version__,
        "django-allauth": allauth.__version__,
    }


def last_backup() -> datetime | None:
    return LastBackup.objects.values_list("at", flat=True).first()


def database_facts() -> DatabaseFacts:
    if connection.vendor == "sqlite":
        version = connection.Database.sqlite_version  # type: ignore[attr-defined]
        path: Path = settings.CONFIG.sqlite_path  # type: ignore[assignment]
        size = 0
        for file in (path, path.with_name(f"{path.name}-wal")):
            with suppress(FileNotFoundError):  # the log may end at any moment
                size += file.stat().st_size
        return DatabaseFacts(f"SQLite {version}", size, schema.pending(), last_backup())
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        [version] = cursor.fetchone()
        cursor.execute("SELECT pg_database_size(current_database())")
        [size] = cursor.fetchone()
    # Distributions add their own words: "17.2 (Debian 17.2-1.pgdg120+1)".
    name = f"PostgreSQL {version.split()[0]}"
    return DatabaseFacts(name, size, schema.pending(), last_backup())
