"""The audit trail as rows for programs: what operators did on their pages, and when.

The download of the admin and `readback audit` write the same fields, which
docs/operators.md explains. Nothing in them is secret: an object is named by its address
or by the masked form of a key.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet

from readback.cabinet.serving import downloads

# Of one download; the command has no limit.
MAX_ROWS = 100_000
FIELDS = ("time", "by", "by_id", "object_type", "object_id", "object", "change")
# What people call the tables.
_TYPES = {"user": "account"}


def entries(since: datetime | None = None) -> QuerySet[LogEntry]:
    rows = LogEntry.objects.select_related("user", "content_type").order_by("pk")
    return rows.filter(action_time__gte=since) if since else rows


def fields_of(entry: LogEntry) -> dict[str, Any]:
    kind = entry.content_type.model if entry.content_type else ""
    return {
        "time": downloads.iso(entry.action_time),
        "by": entry.user.get_username(),
        "by_id": entry.user_id,
        "object_type": _TYPES.get(kind, kind),
        "object_id": entry.object_id,
        "object": entry.object_repr,
        "change": entry.get_change_message() or "Added",
    }


def lines(rows: Iterable[LogEntry], extension: str) -> Iterator[str]:
    return downloads.lines(extension, FIELDS, (fields_of(row).values() for row in rows))
