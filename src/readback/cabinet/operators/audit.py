"""The audit trail: what operators did on their pages, for people and for programs.

`readback audit` writes the fields of `row_of`, which docs/operations.md explains. None
is secret: an object is named by its address or by the masked form of a key.
"""

from datetime import UTC, datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet


def entries(since: datetime | None = None) -> QuerySet[LogEntry]:
    rows = LogEntry.objects.select_related("user", "content_type").order_by("pk")
    return rows.filter(action_time__gte=since) if since else rows


def row_of(entry: LogEntry) -> dict[str, Any]:
    at = entry.action_time.astimezone(UTC).isoformat(timespec="milliseconds")
    return {
        "time": at.replace("+00:00", "Z"),
        "by": entry.user.get_username(),
        "by_id": entry.user_id,
        "object_type": type_of(entry),
        "object_id": entry.object_id,
        "object": entry.object_repr,
        "change": entry.get_change_message(),
    }


def type_of(entry: LogEntry) -> str:
    """Return what people call the table."""
    kind = entry.content_type.model if entry.content_type else ""
    return "account" if kind == "user" else kind
