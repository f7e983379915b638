"""The chart: which bar a request is counted in, and how tall the bars are."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from readback.cabinet.keys import chart

NOW = datetime(2026, 3, 10, 14, 35, tzinfo=UTC)
HOUR = datetime(2026, 3, 10, 14, tzinfo=UTC)


def counted(bar: chart.Bar) -> dict[str, int]:
    return {part.outcome: part.requests for part in bar.parts}


def test_the_current_hour_is_the_last_bar_and_the_first_is_23_hours_older():
    oldest, too_old = (HOUR - timedelta(hours=hours) for hours in (23, 24))
    drawn = chart.last_day([(HOUR, "", 3), (oldest, "", 5), (too_old, "", 7)], NOW)

    assert len(drawn.bars) == 24
    assert counted(drawn.bars[-1]) == {"accepted": 3}
    assert counted(drawn.bars[0]) == {"accepted": 5}
    assert drawn.bars[0].start == oldest
    assert (drawn.accepted, drawn.refused) == (8, 0)


def test_a_month_has_thirty_utc_days_and_ends_today():
    midnight = HOUR.replace(hour=0)
    late = midnight - timedelta(hours=1)
    drawn = chart.last_month([(midnight, "", 1), (late, "invalid_model", 2)], NOW)

    assert len(drawn.bars) == 30
    assert counted(drawn.bars[-1]) == {"accepted": 1}
    assert counted(drawn.bars[-2]) == {"refused": 2}
    assert (drawn.accepted, drawn.refused) == (1, 2)


def test_the_highest_bar_fills_the_chart_and_the_others_are_in_proportion():
    counts = [(HOUR, "", 100), (HOUR - timedelta(hours=1), "", 50)]
    drawn = chart.last_day(counts, NOW)

    assert drawn.top == 100
    heights = [bar.parts[0].height for bar in drawn.bars[-2:]]
    assert heights == [chart.HEIGHT / 2, chart.HEIGHT]
    assert drawn.bars[-1].parts[0].y == 0


def test_one_refusal_among_thousands_is_still_visible():
    counts = [(HOUR, "", 100_000), (HOUR, "invalid_model", 1)]
    accepted, refused = chart.last_day(counts, NOW).bars[-1].parts

    assert refused.height >= 2
    assert refused.y + refused.height == accepted.y


def test_a_rehearsed_failure_is_neither_accepted_nor_refused():
    drawn = chart.last_day([(HOUR, "rehearsed", 2), (HOUR, "not_found", 1)], NOW)

    assert (drawn.accepted, drawn.refused, drawn.rehearsed) == (0, 1, 2)
    assert counted(drawn.bars[-1]) == {"refused": 1, "rehearsed": 2}


def test_empty_bars_are_side_by_side_inside_the_chart():
    drawn = chart.last_month([], NOW)
    bars = drawn.bars

    assert all(left.x + left.width < right.x for left, right in pairwise(bars))
    assert bars[-1].x + bars[-1].width <= chart.WIDTH
    assert (drawn.accepted, drawn.refused, drawn.top) == (0, 0, 0)
    assert not any(bar.parts for bar in bars)
