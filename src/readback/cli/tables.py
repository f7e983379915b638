"""Rows on standard output: a table in a terminal, tab-separated lines in a pipe."""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

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


def format_time(at: datetime | None) -> str:
    """Return a time in UTC, or a dash for never."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}" if at else "-"
