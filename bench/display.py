"""What a person sees while the benchmark runs: one bar, one line per result.

Off a terminal the bar is left out and the lines remain.
"""

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)


class Display:
    """Progress over a number of steps that is known beforehand."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            # Drawn often, the bar would be a load of its own.
            refresh_per_second=2,
            disable=not self.console.is_terminal,
        )
        self._task = self._progress.add_task("", total=0)

    def __enter__(self) -> "Display":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def expect(self, steps: int) -> None:
        total = self._progress.tasks[0].total or 0
        self._progress.update(self._task, total=total + steps)

    def begin(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def done(self, line: str = "") -> None:
        self._progress.advance(self._task)
        if line:
            self.say(line)

    def say(self, line: str) -> None:
        self.console.print(line, markup=False, soft_wrap=True)
