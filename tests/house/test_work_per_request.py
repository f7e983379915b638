"""The work of one request does not grow unnoticed.

Counted, not timed, so it says the same on every machine: see `bench/work.py`. The
figures are recorded per version of Python, because each has its own bytecode.
"""

import pytest
from bench import work
from bench.work import Work

TOLERANCE = 1.10
HOW_TO_RECORD = "If it is worth it, record it in the same commit: python -m bench.work"


@pytest.fixture(scope="module")
def counted() -> dict[str, Work]:
    return work.work()


def recorded() -> dict[str, Work]:
    """The record for this Python, or the newest one for a Python not recorded yet."""
    records = work.recorded()
    newest = max(records, key=lambda version: int(version.partition(".")[2]))
    return records[work.VERSION if work.VERSION in records else newest]


@pytest.mark.parametrize("figure", ["calls", "instructions", "bytes"])
@pytest.mark.parametrize("case", recorded())
def test_a_request_takes_no_more_work_than_is_recorded(
    counted: dict[str, Work], case: str, figure: str
) -> None:
    now, before = counted[case][figure], recorded()[case][figure]
    assert now <= before * TOLERANCE, (
        f"{case}: {now:g} {figure} instead of {before:g}. {HOW_TO_RECORD}"
    )


def test_every_kind_of_request_that_is_counted_is_recorded(
    counted: dict[str, Work],
) -> None:
    assert counted.keys() == recorded().keys(), HOW_TO_RECORD


@pytest.mark.parametrize("case", recorded())
def test_a_request_leaves_nothing_behind(counted: dict[str, Work], case: str) -> None:
    assert counted[case]["blocks_kept"] < 0.1
