"""The steps of a soak run."""

import pytest
from soak import schedule


@pytest.mark.parametrize("seconds", [schedule.SHORTEST_FAULTS + 4, 51, 600, 3600])
def test_the_database_goes_away_after_the_last_kill_has_been_counted(seconds):
    steps = schedule.steps(seconds)
    last_kill = max(step.at for step in steps if step.what == schedule.KILL)
    counted = next(
        step.at
        for step in steps
        if step.what == schedule.COMPARE and step.at > last_kill
    )

    later = {(step.what, step.kind) for step in steps if step.at > counted}

    assert {(schedule.RELOAD, 0), (schedule.GO, 0), (schedule.GO, 1)} <= later
    assert counted < 0.6 * schedule.faults_end(seconds)


def test_a_run_of_an_hour_is_calm_long_enough_to_judge_memory():
    assert 3600 - schedule.faults_end(3600) > 31 * 60
