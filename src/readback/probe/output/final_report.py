"""A display that prints the whole report when the run is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from readback.probe.report import ProbeReport
from readback.probe.results import StepResult


class FinalReportDisplay:
    def __init__(self, render: Callable[[ProbeReport], str]) -> None:
        self._render = render

    @contextmanager
    def running(self, title: str) -> Iterator[None]:
        yield

    def show(self, result: StepResult) -> None:
        pass

    def finish(self, report: ProbeReport) -> None:
        print(self._render(report), flush=True)
