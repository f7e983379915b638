"""Watching: the walk again and again, one line each, with the latency drawn."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from readback.probe.findings import Fact, Family, Verdict
from readback.probe.report import Line, Report
from readback.probe.wording import milliseconds

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "×"
_WIDTH = 40


def repeat(walk: Callable[[], Report], seconds: float) -> Family:
    """Walk that often until Ctrl-C; give the first failure there was."""
    worst = Family.WELL
    try:
        while True:
            began = time.monotonic()
            worst = worst or walk().family
            time.sleep(max(0.0, seconds - (time.monotonic() - began)))
    except KeyboardInterrupt:
        return worst


class Trend:
    """A display of one line per walk: the latest latencies as bars."""

    def __init__(self) -> None:
        self._seconds: deque[float | None] = deque(maxlen=_WIDTH)

    @contextmanager
    def at_work(self, title: str) -> Iterator[None]:
        yield

    def show(self, line: Line) -> None:
        pass

    def end(self, report: Report) -> None:
        seconds = _latency(report)
        self._seconds.append(seconds)
        figure = "-" if seconds is None else milliseconds(seconds)
        said = "" if report.verdict == Verdict.OK else f"  {report.sentence}"
        moment = f"{report.started:%H:%M:%SZ}"
        print(
            f"{moment}  {report.verdict:<4} {figure:>8}  {self.drawing}{said}",
            flush=True,
        )

    @property
    def drawing(self) -> str:
        """One bar per walk, from nothing up to the slowest; a failure is a gap."""
        slowest = max((s for s in self._seconds if s is not None), default=0.0)
        return "".join(_bar(seconds, slowest) for seconds in self._seconds)


def _bar(seconds: float | None, slowest: float) -> str:
    if seconds is None:
        return _GAP
    return _BARS[min(int(seconds / slowest * len(_BARS)), len(_BARS) - 1)]


def _latency(report: Report) -> float | None:
    facts = {line.step: line.finding.facts for line in report.lines}
    total: Fact = facts.get("latency", {}).get("total")
    if isinstance(total, dict) and isinstance(p50 := total["p50_ms"], float):
        return p50 / 1000
    return None
