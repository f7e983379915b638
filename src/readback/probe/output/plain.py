"""The checklist as plain lines, for a pipe or a log: words in place of marks."""

from collections.abc import Iterator
from contextlib import contextmanager

from readback.probe.report import Line, Report


class Plain:
    @contextmanager
    def at_work(self, title: str) -> Iterator[None]:
        yield

    def show(self, line: Line) -> None:
        found = line.finding
        figure = f"{found.figure}: " if found.figure else ""
        print(f"{found.verdict:<5}{line.title:<20}{figure}{found.sentence}", flush=True)
        for detail in found.details:
            print(f"{'':25}{detail}", flush=True)
        if found.hint:
            print(f"     {found.id:<20}{found.hint}", flush=True)

    def end(self, report: Report) -> None:
        print(f"     {report.effort}", flush=True)
        print(report.sentence, flush=True)
