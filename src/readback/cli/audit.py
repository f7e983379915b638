"""`readback audit`: what operators did on their pages, as a table or as JSON.

docs/operations.md explains the fields. None of them is secret: an account is
identified by its address, and a key by its masked form.
"""

import json
from datetime import UTC
from typing import Any

import click

from readback.cli import console
from readback.cli.database import open_cabinet


@click.command()
@console.json_flag(help="Print one JSON object per line.")
def audit(as_json: bool) -> None:
    """Print the audit trail, the oldest entry first.

    It lists what operators did on their pages, and when a command made an account an
    operator or removed that right.
    """
    with open_cabinet():
        from readback.cabinet.models import AuditEntry

        rows = map(_row_of, AuditEntry.objects.order_by("pk").iterator())
        if as_json:
            for row in rows:
                click.echo(json.dumps(row, ensure_ascii=False))
            return
        headings = ("time", "operator", "type", "object", "change")
        names = ("time", "by", "object_type", "object", "change")
        console.print_rows(headings, ([row[name] for name in names] for row in rows))


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
