"""What commands print on standard output: rows for people, or JSON for programs.

Rows are a table in a terminal and tab-separated lines in a pipe.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click


def print_rows(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; without a terminal, one tab-separated line per row."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headings)
    for row in rows:
        # `Text`, so that a key's name is not interpreted as rich markup.
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def print_json(value: Any) -> None:
    """Print one JSON object or list, with times such as 2026-11-15T04:12:00Z."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_json_time)
    click.echo(text)


def format_time(at: datetime | None) -> str:
    """Return a time in UTC, or a dash for never."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}" if at else "-"


def _json_time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
