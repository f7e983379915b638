"""The chart of a key's requests: converts counts to the coordinates of an SVG.

Accepted requests are drawn solid, refused ones hatched above them, so that the chart
is readable without colour. Only arithmetic lives here; the template draws.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

WIDTH = 480
HEIGHT = 120
_BAR_GAP = 3
# A single refusal among thousands must still be visible.
_MIN_BAR_HEIGHT = 3.0

Count = tuple[datetime, bool, int]
"""The start of the hour, whether accepted, and the number of requests."""


class Bar(NamedTuple):
    """One hour or day: its counts and the position of its two rectangles."""

    start: datetime
    accepted: int
    refused: int
    x: float
    width: float
    accepted_height: float
    refused_height: float

    @property
    def accepted_y(self) -> float:
        return HEIGHT - self.accepted_height

    @property
    def refused_y(self) -> float:
        return self.accepted_y - self.refused_height


class Chart(NamedTuple):
    bars: list[Bar]
    accepted: int
    refused: int
    top: int
    """The number of requests in the highest bar."""


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
    sums = [[0, 0] for _ in range(number)]
    for moment, accepted, requests in counts:
        if begin <= moment < end:
            sums[(moment - begin) // step][not accepted] += requests
    top = max(accepted + refused for accepted, refused in sums)
    width = WIDTH / number
    bars = [
        Bar(
            start=begin + step * index,
            accepted=accepted,
            refused=refused,
            x=round(index * width + _BAR_GAP / 2, 1),
            width=round(width - _BAR_GAP, 1),
            accepted_height=_height(accepted, top),
            refused_height=_height(refused, top),
        )
        for index, (accepted, refused) in enumerate(sums)
    ]
    accepted, refused = (sum(column) for column in zip(*sums, strict=True))
    return Chart(bars, accepted, refused, top)


def _height(requests: int, top: int) -> float:
    # Minimum heights can exceed the frame by the same amount; the template leaves room.
    return round(max(requests / top * HEIGHT, _MIN_BAR_HEIGHT), 1) if requests else 0.0
