"""The chart of a key's requests: numbers to the lines and boxes of an SVG.

Accepted is drawn full, refused hatched and on top, so that the picture needs no
colour. Everything here is arithmetic; the template draws.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

WIDTH = 480
HEIGHT = 120
_GAP = 3
# A single refusal among thousands must still be seen.
_LEAST = 3.0

Count = tuple[datetime, bool, int]
"""The start of an hour, whether accepted, how many requests."""


class Bar(NamedTuple):
    """One hour or day: its numbers, and where its two boxes stand."""

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
    """What the highest bar stands for."""

    @property
    def total(self) -> int:
        return self.accepted + self.refused


def last_day(counts: Iterable[Count], now: datetime) -> Chart:
    """Draw the hours of the last 24, the one that runs included."""
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return _chart(counts, hour + timedelta(hours=1), timedelta(hours=1), 24)


def last_month(counts: Iterable[Count], now: datetime) -> Chart:
    """Draw the days of the last 30, today included, in UTC."""
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
            x=round(index * width + _GAP / 2, 1),
            width=round(width - _GAP, 1),
            accepted_height=_height(accepted, top),
            refused_height=_height(refused, top),
        )
        for index, (accepted, refused) in enumerate(sums)
    ]
    accepted, refused = (sum(column) for column in zip(*sums, strict=True))
    return Chart(bars, accepted, refused, top)


def _height(requests: int, top: int) -> float:
    # The least heights may reach above the frame by as much; the template leaves room.
    return round(max(requests / top * HEIGHT, _LEAST), 1) if requests else 0.0
