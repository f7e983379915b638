"""`--watch`: repeats the run, one line each, with the latency as a bar chart."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from readback.probe.formatting import format_duration
from readback.probe.report import ProbeReport
from readback.probe.results import Fact, FailureFamily, StepResult, Verdict

_BARS = "▁▂▃▄▅▆▇█"
_NO_LATENCY = "×"
_WIDTH = 40


def repeat(run: Callable[[], ProbeReport], seconds: float) -> FailureFamily:
    """Repeat the run at this interval until Ctrl-C; return the first failure."""
    first_failure = FailureFamily.NONE
    try:
        while True:
            started = time.monotonic()
            first_failure = first_failure or run().family
            time.sleep(max(0.0, seconds - (time.monotonic() - started)))
    except KeyboardInterrupt:
        return first_failure


class TrendDisplay:
    """A display with one line per run: the latest latencies as bars."""

    def __init__(self) -> None:
        self._seconds: deque[float | None] = deque(maxlen=_WIDTH)

    @contextmanager
    def running(self, title: str) -> Iterator[None]:
        yield

    def show(self, result: StepResult) -> None:
        pass

    def finish(self, report: ProbeReport) -> None:
        seconds = _latency(report)
        self._seconds.append(seconds)
        figure = "-" if seconds is None else format_duration(seconds)
        comment = "" if report.verdict == Verdict.OK else f"  {report.sentence}"
        moment = f"{report.started:%H:%M:%SZ}"
        print(
            f"{moment}  {report.verdict:<4} {figure:>8}  {self.bars}{comment}",
            flush=True,
        )

    @property
    def bars(self) -> str:
        """One bar per run, scaled to the slowest; a cross is a run without latency."""
        slowest = max((s for s in self._seconds if s is not None), default=0.0)
        return "".join(_bar(seconds, slowest) for seconds in self._seconds)


def _bar(seconds: float | None, slowest: float) -> str:
    if seconds is None:
        return _NO_LATENCY
    return _BARS[min(int(seconds / slowest * len(_BARS)), len(_BARS) - 1)]


def _latency(report: ProbeReport) -> float | None:
    facts = {result.step: result.diagnosis.facts for result in report.results}
    total: Fact = facts.get("latency", {}).get("total")
    if isinstance(total, dict) and isinstance(p50 := total["p50_ms"], float):
        return p50 / 1000
    return None
