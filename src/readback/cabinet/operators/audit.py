"""The audit trail as rows for programs: what operators did on their pages, and when.

`readback audit` writes these fields, which docs/operators.md explains. Nothing in them
is secret: an object is named by its address or by the masked form of a key.
"""

from datetime import datetime

from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet
from django.utils.translation import gettext_noop

from readback.cabinet.serving import downloads

# What people call the tables.
_TYPES = {"user": "account"}


def type_of(entry: LogEntry) -> str:
    kind = entry.content_type.model if entry.content_type else ""
    return _TYPES.get(kind, kind)


def change_of(entry: LogEntry) -> str:
    """Return what was done, in English."""
    return str(entry.get_change_message()) or gettext_noop("Added")


COLUMNS: downloads.Columns = {
    "time": lambda entry: downloads.iso(entry.action_time),
    "by": lambda entry: entry.user.get_username(),
    "by_id": lambda entry: entry.user_id,
    "object_type": type_of,
    "object_id": lambda entry: entry.object_id,
    "object": lambda entry: entry.object_repr,
    "change": change_of,
}


def entries(since: datetime | None = None) -> QuerySet[LogEntry]:
    rows = LogEntry.objects.select_related("user", "content_type").order_by("pk")
    return rows.filter(action_time__gte=since) if since else rows
