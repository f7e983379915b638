"""The steps of a run, and what its page says about the clients."""

from pathlib import Path

import pytest
from soak import clients, schedule


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


def test_the_page_describes_the_clients_that_there_are():
    page = Path(clients.__file__).parents[1] / "bench" / "README.md"
    text = page.read_text(encoding="utf-8")
    on_long_path = sum(role.clients for role in clients.ROLES if role.distant)
    assert f"**{clients.CLIENTS} clients**" in text
    assert f"{on_long_path} over a *long path*" in text
