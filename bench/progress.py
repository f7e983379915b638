"""The progress of a run on the terminal: a bar, and one line per result.

Without a terminal only the lines are printed.
"""

from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)


class ProgressBar:
    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            # Redrawing more often would itself load the machine.
            refresh_per_second=2,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("", total=0)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def add_steps(self, count: int) -> None:
        total = self._progress.tasks[0].total or 0
        self._progress.update(self._task, total=total + count)

    def describe(self, step: str) -> None:
        """Show the name of the current step."""
        self._progress.update(self._task, description=step)

    def finish_step(self, line: str = "") -> None:
        self._progress.advance(self._task)
        if line:
            self.print(line)

    def print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)
