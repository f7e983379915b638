"""The checklist as plain text for a pipe or a log: words instead of symbols."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from readback.probe.report import ProbeReport
from readback.probe.results import StepResult


class PlainDisplay:
    @contextmanager
    def running(self, title: str) -> Iterator[None]:
        yield

    def show(self, result: StepResult) -> None:
        diagnosis = result.diagnosis
        figure = f"{diagnosis.figure}: " if diagnosis.figure else ""
        text = f"{figure}{diagnosis.sentence}"
        print(f"{diagnosis.verdict:<5}{result.title:<20}{text}", flush=True)
        for detail in diagnosis.details:
            print(f"{'':25}{detail}", flush=True)
        if diagnosis.hint:
            print(f"     {diagnosis.id:<20}{diagnosis.hint}", flush=True)

    def finish(self, report: ProbeReport) -> None:
        print(f"     {report.effort}", flush=True)
        print(report.sentence, flush=True)
