"""The checklist as plain lines, for a pipe or a log: words in place of marks."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from readback.probe.report import Line, Report
from readback.probe.wording import milliseconds


class Plain:
    @contextmanager
    def at_work(self, title: str) -> Iterator[None]:
        yield

    def show(self, line: Line) -> None:
        found = line.finding
        figure = f"{found.figure}: " if found.figure else ""
        click.echo(f"{found.verdict:<5}{line.title:<20}{figure}{found.sentence}")
        if found.hint:
            click.echo(f"     {found.id:<20}{found.hint}")

    def end(self, report: Report) -> None:
        sent = f"{report.requests} requests in {milliseconds(report.seconds)}"
        click.echo(f"     {sent}")
        click.echo(report.sentence)
