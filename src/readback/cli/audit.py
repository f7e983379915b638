"""`readback audit`: what operators did on their pages, for people and programs.

docs/operations.md explains the fields. None is secret: an account is identified by its
address, and a key by its masked form.
"""

import json
from datetime import UTC, datetime
from typing import Any

import click

from readback.cli import console
from readback.cli.database import open_cabinet


def moment(value: str) -> datetime:
    """Parse a time or an age; click shows this function's name in the help."""
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        age = console.duration(value, instead="a time such as 2026-11-15, or ")
        return datetime.now(UTC) - age
    return at if at.tzinfo else at.replace(tzinfo=UTC)


@click.command()
@click.option(
    "--since",
    type=moment,
    help="Only newer entries: a time in UTC such as 2026-11-15 or 2026-11-15T04:12, or "
    "an age such as 30d or 12h.",
)
@console.json_flag(help="Print one JSON object per line.")
def audit(since: datetime | None, as_json: bool) -> None:
    """Print the audit trail, the oldest entry first.

    It lists what operators did on their pages, and changes of operators by commands.
    """
    with open_cabinet():
        from readback.cabinet.models import AuditEntry

        entries = AuditEntry.objects.order_by("pk")
        if since:
            entries = entries.filter(at__gte=since)
        rows = map(_row_of, entries.iterator())
        if as_json:
            for row in rows:
                click.echo(json.dumps(row, ensure_ascii=False))
            return
        shown = list(rows)
    headings = ("time", "operator", "type", "object", "change")
    names = ("time", "by", "object_type", "object", "change")
    console.print_rows(headings, [[row[name] for name in names] for row in shown])


def _row_of(entry: Any) -> dict[str, Any]:
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
