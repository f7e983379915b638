"""The audit trail: what operators did on their pages, for people and for programs.

`readback audit` writes the fields of `row_of`, which docs/operations.md explains. None
is secret: an object is named by its address or by the masked form of a key.
"""

from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet

from readback.cabinet.models import AuditEntry


def entries(since: datetime | None = None) -> QuerySet[AuditEntry]:
    rows = AuditEntry.objects.order_by("pk")
    return rows.filter(at__gte=since) if since else rows


def row_of(entry: AuditEntry) -> dict[str, Any]:
    at = entry.at.astimezone(UTC).isoformat(timespec="milliseconds")
    return {
        "time": at.replace("+00:00", "Z"),
        "by": entry.by,
        "by_id": entry.by_id,
        "object_type": entry.object_type,
        "object_id": str(entry.object_id),
        "object": entry.object_name,
        "change": entry.change,
    }
