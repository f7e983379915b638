"""Rows on standard output: a table for people, plain columns for programs."""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import click


def show(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows; without a terminal, one line each, columns divided by tabs."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headings)
    for row in rows:
        # As text: a name that someone chose must not be read as markup.
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def moment(at: datetime | None) -> str:
    """Write a time in UTC, or a dash for never."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}" if at else "-"
