"""What files and commands share: times, rows as JSON, and the names of files."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone

# The names of the fields of a row, and how each is made of it.
Columns = Mapping[str, Callable[[Any], object]]


def iso(moment: datetime) -> str:
    """Return a time in ISO 8601, in UTC."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def fields_of(row: Any, columns: Columns) -> dict[str, Any]:
    return {name: value_of(row) for name, value_of in columns.items()}


def as_json(value: object) -> str:
    return json.dumps(value, default=iso, ensure_ascii=False)


def name_file(response: HttpResponseBase, name: str, extension: str) -> None:
    """Let the browser store the answer in a file with this name and today's date."""
    file = f"readback-{name}-{timezone.now():%Y-%m-%d}.{extension}"
    response.headers["Content-Disposition"] = f'attachment; filename="{file}"'
