"""The audit trail as rows for programs: what operators did on their pages, and when.

`readback audit` writes these fields, which docs/operators.md explains. Nothing in them
is secret: an object is named by its address or by the masked form of a key.
"""

from datetime import datetime

from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet

from readback.cabinet.serving import downloads

# What people call the tables.
_TYPES = {"user": "account"}


def _type_of(entry: LogEntry) -> str:
    kind = entry.content_type.model if entry.content_type else ""
    return _TYPES.get(kind, kind)


COLUMNS: downloads.Columns = {
    "time": lambda entry: downloads.iso(entry.action_time),
    "by": lambda entry: entry.user.get_username(),
    "by_id": lambda entry: entry.user_id,
    "object_type": _type_of,
    "object_id": lambda entry: entry.object_id,
    "object": lambda entry: entry.object_repr,
    "change": lambda entry: entry.get_change_message() or "Added",
}


def entries(since: datetime | None = None) -> QuerySet[LogEntry]:
    rows = LogEntry.objects.select_related("user", "content_type").order_by("pk")
    return rows.filter(action_time__gte=since) if since else rows
