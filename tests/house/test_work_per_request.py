"""The work per request does not grow unnoticed."""

import pytest

from tests.house import work_per_request as work
from tests.house.work_per_request import Work

TOLERANCE = 1.10
# A refusal has to be explained; without an accepted key, the body is not read.
MOST_FOR_A_REFUSAL = 3
MOST_FOR_A_STRANGER = 2
STRANGERS = ("401", "404, no key")
HOW_TO_RECORD = (
    "If the change is worth it, record the new figures in the same commit: "
    "python -m tests.house.work_per_request"
)


@pytest.fixture(scope="module")
def counted() -> dict[str, Work]:
    return work.count()


def recorded() -> dict[str, float]:
    """Return the record for this Python, or the newest one if it has none."""
    records = work.recorded()
    newest = max(records, key=lambda version: int(version.partition(".")[2]))
    return records[work.VERSION if work.VERSION in records else newest]


@pytest.mark.parametrize("case", recorded())
def test_a_request_takes_no_more_work_than_recorded(
    counted: dict[str, Work], case: str
) -> None:
    now = counted[case]["instructions"]
    before = recorded()[case]
    assert now <= before * TOLERANCE, (
        f"{case}: {now:g} instructions, recorded are {before:g}. {HOW_TO_RECORD}"
    )


def test_every_counted_kind_of_request_is_recorded(
    counted: dict[str, Work],
) -> None:
    assert counted.keys() == recorded().keys(), HOW_TO_RECORD


@pytest.mark.parametrize("case", [case for case in recorded() if case[0] == "4"])
def test_a_refusal_costs_little_more_than_a_success(
    counted: dict[str, Work], case: str
) -> None:
    """Otherwise a limit would make abuse dearer for us than for the client."""
    success = counted["the same head again"]["instructions"]
    is_strangers = case.startswith(STRANGERS)
    most = MOST_FOR_A_STRANGER if is_strangers else MOST_FOR_A_REFUSAL
    assert counted[case]["instructions"] <= most * success


@pytest.mark.parametrize("case", recorded())
def test_a_request_keeps_no_memory(counted: dict[str, Work], case: str) -> None:
    assert counted[case]["blocks_kept"] < 0.1
