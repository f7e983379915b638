"""Charts of requests: counts converted to the coordinates of an SVG.

Accepted requests are drawn solid, refused ones hatched above them, and rehearsed ones
as an outline on top, so that a chart is readable without colour. Templates draw it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from readback.rehearsal import REHEARSED

WIDTH = 480
HEIGHT = 120
_BAR_GAP = 3
# A single refusal among thousands must still be visible.
_MIN_HEIGHT = 3.0
# The order of outcomes, from the bottom of a bar to its top.
_OUTCOMES = ("accepted", "refused", REHEARSED)

Count = tuple[datetime, str, int]
"""The start of the hour, the code of the outcome, and the number of requests."""


class Part(NamedTuple):
    """The requests of one outcome in a bar, and where they are drawn."""

    outcome: str
    requests: int
    y: float
    height: float


class Bar(NamedTuple):
    """One hour or day; outcomes without requests are left out."""

    start: datetime
    x: float
    width: float
    parts: list[Part]


class Chart(NamedTuple):
    bars: list[Bar]
    top: int
    """The number of requests in the highest bar."""
    accepted: int
    refused: int
    rehearsed: int


def last_day(counts: Iterable[Count], now: datetime) -> Chart:
    """Return the chart of the last 24 hours, including the current one."""
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return _chart(counts, hour + timedelta(hours=1), timedelta(hours=1), 24)


def last_month(counts: Iterable[Count], now: datetime) -> Chart:
    """Return the chart of the last 30 days in UTC, including today."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return _chart(counts, midnight + timedelta(days=1), timedelta(days=1), 30)


def _chart(
    counts: Iterable[Count], end: datetime, step: timedelta, number: int
) -> Chart:
    begin = end - step * number
    sums = [Counter[str]() for _ in range(number)]
    for moment, code, requests in counts:
        if begin <= moment < end:
            sums[(moment - begin) // step][_outcome(code)] += requests
    top = max(each.total() for each in sums)
    width = WIDTH / number
    bars = [
        Bar(
            start=begin + step * index,
            x=round(index * width + _BAR_GAP / 2, 1),
            width=round(width - _BAR_GAP, 1),
            parts=list(_parts(requests, top)),
        )
        for index, requests in enumerate(sums)
    ]
    totals = sum(sums, Counter())
    return Chart(bars, top, *(totals[outcome] for outcome in _OUTCOMES))


def _outcome(code: str) -> str:
    return "accepted" if not code else code if code == REHEARSED else "refused"


def _parts(requests: Counter[str], top: int) -> Iterator[Part]:
    # Minimum heights can make a bar higher than HEIGHT; the template leaves room.
    y: float = HEIGHT
    for outcome in _OUTCOMES:
        if number := requests[outcome]:
            height = round(max(number / top * HEIGHT, _MIN_HEIGHT), 1)
            y = round(y - height, 1)
            yield Part(outcome, number, y, height)
