"""The audit trail as rows for programs: what operators did on their pages, and when.

The download of the admin and `readback audit` write the same fields, which
docs/operators.md explains. Nothing in them is secret: an object is named by its address
or by the masked form of a key.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone

from readback.cabinet.accounts.download import iso
from readback.cabinet.keys import journal

# Of one download; the command has no limit.
MAX_ROWS = 100_000
FIELDS = ("time", "by", "by_id", "object_type", "object_id", "object", "change")
# What people call the tables.
_TYPES = {"user": "account"}


def entries(since: datetime | None = None) -> QuerySet[LogEntry]:
    """Return the entries, the oldest first."""
    rows = LogEntry.objects.select_related("user", "content_type").order_by("pk")
    return rows.filter(action_time__gte=since) if since else rows


def fields_of(entry: LogEntry) -> dict[str, Any]:
    kind = entry.content_type.model if entry.content_type else ""
    return {
        "time": iso(entry.action_time),
        "by": entry.user.get_username(),
        "by_id": entry.user_id,
        "object_type": _TYPES.get(kind, kind),
        "object_id": entry.object_id,
        "object": entry.object_repr,
        "change": entry.get_change_message() or "Added",
    }


def as_json_lines(rows: Iterable[LogEntry]) -> Iterator[str]:
    for entry in rows:
        yield json.dumps(fields_of(entry), ensure_ascii=False) + "\n"


def as_csv(rows: Iterable[LogEntry]) -> Iterator[str]:
    yield ",".join(FIELDS) + "\r\n"
    for entry in rows:
        line = io.StringIO()
        csv.writer(line).writerow(map(journal.csv_cell, fields_of(entry).values()))
        yield line.getvalue()


WRITERS = {"csv": as_csv, "jsonl": as_json_lines}


def download(rows: Iterable[LogEntry], extension: str) -> StreamingHttpResponse:
    """Return a file with the rows."""
    media_type, _write = journal.FORMATS[extension]
    response = StreamingHttpResponse(WRITERS[extension](rows), content_type=media_type)
    name = f"readback-audit-{timezone.now():%Y-%m-%d}.{extension}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
