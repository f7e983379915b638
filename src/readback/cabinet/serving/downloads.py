"""Files that people download: times, tables as CSV or JSON Lines, and their names."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone

# The kinds of file that a table can be downloaded as.
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8; header=present",
    "jsonl": "application/jsonl; charset=utf-8",
}
# The names of the columns of a table, and how each is made of a row.
Columns = Mapping[str, Callable[[Any], object]]
# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def iso(moment: datetime) -> str:
    """Return a time in ISO 8601, in UTC."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def fields_of(row: Any, columns: Columns) -> dict[str, Any]:
    return {name: value_of(row) for name, value_of in columns.items()}


def lines(extension: str, columns: Columns, rows: Iterable[object]) -> Iterator[str]:
    """Write a table: JSON Lines, or CSV as RFC 4180 describes it, with a heading."""
    if extension == "csv":
        yield _csv_line(columns)
    for row in rows:
        values = fields_of(row, columns)
        if extension == "csv":
            yield _csv_line(map(_cell, values.values()))
        else:
            yield json.dumps(values, ensure_ascii=False) + "\n"


def _csv_line(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _cell(value: object) -> object:
    """Return what a spreadsheet shows as it is, and never takes for a formula."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value


def name_file(response: HttpResponseBase, name: str, extension: str) -> None:
    """Let the browser store the answer in a file with this name and today's date."""
    file = f"readback-{name}-{timezone.now():%Y-%m-%d}.{extension}"
    response.headers["Content-Disposition"] = f'attachment; filename="{file}"'
