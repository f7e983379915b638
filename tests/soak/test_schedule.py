"""When things break: often enough, and never two things at once."""

import pytest
from soak.schedule import (
    COME_BACK,
    COMPARE,
    GO,
    KILL,
    RELOAD,
    SHORTEST_FAULTS,
    Step,
    faults_end,
    steps,
)

DURATIONS = [SHORTEST_FAULTS + 4, 60, 61.7, 300, 3600]


def times(found: list[Step], what: str) -> list[float]:
    return [step.at for step in found if step.what == what]


def test_the_shortest_run_has_every_fault():
    found = steps(51)

    assert times(found, RELOAD) == [10, 20, 30, 40]
    assert times(found, KILL) == [14]
    assert {step.kind for step in found if step.what == GO} == {0, 1}


@pytest.mark.parametrize("seconds", DURATIONS)
def test_every_outage_ends_before_the_run_does(seconds):
    found = steps(seconds)

    assert len(times(found, GO)) == len(times(found, COME_BACK)) >= 3
    assert found[-1].at < seconds
    for start, end in zip(times(found, GO), times(found, COME_BACK), strict=True):
        assert 3 <= end - start <= 4


@pytest.mark.parametrize("seconds", DURATIONS)
def test_no_worker_is_killed_while_the_database_is_away_or_recovers(seconds):
    found = steps(seconds)

    for at in times(found, KILL):
        for end in times(found, COME_BACK):
            assert not end - 4 <= at <= end + 5


@pytest.mark.parametrize("seconds", DURATIONS)
def test_the_counts_are_compared_before_and_after_each_group_of_kills(seconds):
    """So that only the kills between two comparisons can explain a difference."""
    found = steps(seconds)
    groups = [0.0, *times(found, COMPARE), seconds]

    with_kills = [
        any(start < at < end for at in times(found, KILL))
        for start, end in zip(groups, groups[1:], strict=False)
    ]
    assert False in with_kills
    assert True in with_kills


def test_the_last_fifth_of_a_long_run_is_calm():
    assert faults_end(3600) == 2880
    assert all(step.at <= 2880 + 4 for step in steps(3600))
