"""`--watch`: repeats the run, one line each, with the latency as a bar chart."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from readback.probe.common.formatting import format_duration
from readback.probe.common.results import Fact, FailureFamily, Verdict
from readback.probe.language import say
from readback.probe.report import ProbeReport

_BARS = "▁▂▃▄▅▆▇█"
_NO_LATENCY = "×"
_WIDTH = 40


def repeat(run: Callable[[], ProbeReport], seconds: float) -> FailureFamily:
    """Repeat the run at this interval until Ctrl-C; return the first failure.

    The run that Ctrl-C interrupts counts only if it is the first.
    """
    first_failure = None
    try:
        while True:
            started = time.monotonic()
            report = run()
            if report.interrupted:
                return report.family if first_failure is None else first_failure
            first_failure = first_failure or report.family
            time.sleep(max(0.0, seconds - (time.monotonic() - started)))
    except KeyboardInterrupt:
        return first_failure or FailureFamily.NONE


class Trend:
    """Shows the first run in full, and each repetition in one line with a chart."""

    def __init__(self, show_in_full: Callable[[ProbeReport], None]) -> None:
        self._show_in_full = show_in_full
        self._is_first = True
        self._seconds: deque[float | None] = deque(maxlen=_WIDTH)

    def show(self, report: ProbeReport) -> None:
        if self._is_first:
            self._is_first = False
            self._show_in_full(report)
            return
        facts = {result.step: result.diagnosis.facts for result in report.results}
        total: Fact = facts.get("latency", {}).get("total")
        p50 = total["p50_ms"] if isinstance(total, dict) else None
        seconds = p50 / 1000 if isinstance(p50, float) else None
        self._seconds.append(seconds)
        figure = "-" if seconds is None else say(format_duration(seconds))
        comment = "" if report.verdict == Verdict.OK else f"  {report.sentence}"
        moment = f"{report.started:%H:%M:%SZ}"
        line = f"{moment}  {report.verdict:<4} {figure:>8}  {self.bars}{comment}"
        print(line, flush=True)

    @property
    def bars(self) -> str:
        """One bar per run, scaled to the slowest; a cross is a run without latency."""
        slowest = max((s for s in self._seconds if s is not None), default=0.0)
        return "".join(
            _NO_LATENCY
            if seconds is None
            else _BARS[min(int(seconds / slowest * len(_BARS)), len(_BARS) - 1)]
            for seconds in self._seconds
        )
