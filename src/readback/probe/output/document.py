"""A display that says nothing until the walk is over, and then writes it all."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from readback.probe.report import Line, Report


class Document:
    def __init__(self, write: Callable[[Report], str]) -> None:
        self._write = write

    @contextmanager
    def at_work(self, title: str) -> Iterator[None]:
        yield

    def show(self, line: Line) -> None:
        pass

    def end(self, report: Report) -> None:
        print(self._write(report), flush=True)
