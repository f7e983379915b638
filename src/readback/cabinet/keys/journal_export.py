"""The rows of a journal as a file: CSV for spreadsheets, JSON Lines for programs.

The columns are documented in docs/cabinet.md. A file has no more than the journal has:
the outcome of requests, never a text.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

from readback.cabinet.accounts import timestamps
from readback.cabinet.keys.journal import ACCEPTED, REFUSED
from readback.cabinet.models import JournalEntry

# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


class ExportedRow(NamedTuple):
    """One row; the names of the fields are the names of the columns."""

    time: str
    outcome: str
    endpoint: str
    status: int
    code: str
    detail: str
    differences: str
    program: str
    program_is_certain: bool
    user_agent: str
    client_address: str
    request_bytes: int
    answer_bytes: int
    requests: int


class ExportFormat(NamedTuple):
    media_type: str
    write: Callable[[Iterable[ExportedRow]], str]


def exported(entry: JournalEntry) -> ExportedRow:
    recognised = entry.recognised
    return ExportedRow(
        time=timestamps.iso(entry.at),
        outcome=ACCEPTED if entry.accepted else REFUSED,
        endpoint=entry.endpoint,
        status=entry.status,
        code=entry.code,
        detail=entry.detail,
        differences=entry.differences,
        program=recognised.name if recognised else "",
        program_is_certain=recognised is not None and recognised.certain,
        user_agent=entry.user_agent,
        client_address=entry.client_address,
        request_bytes=entry.request_bytes,
        answer_bytes=entry.answer_bytes,
        requests=entry.requests,
    )


def as_csv(rows: Iterable[ExportedRow]) -> str:
    """Return CSV as RFC 4180 describes it, with a line of column names."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(ExportedRow._fields)
    for row in rows:
        writer.writerow(map(_cell, row))
    return text.getvalue()


def as_json_lines(rows: Iterable[ExportedRow]) -> str:
    return "".join(f"{json.dumps(row._asdict())}\n" for row in rows)


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value


FORMATS = {
    "csv": ExportFormat("text/csv; charset=utf-8; header=present", as_csv),
    "jsonl": ExportFormat("application/jsonl; charset=utf-8", as_json_lines),
}
