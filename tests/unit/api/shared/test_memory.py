"""A worker gets the place that has fewest workers, and is missed when it is silent."""

import pytest

from readback.api.shared import memory
from readback.api.shared.memory import Places


@pytest.mark.parametrize(
    ("used", "place"),
    [([], 0), ([0], 1), ([1], 0), ([0, 1], 0), ([1, 0, 0], 1), ([0, 0, 1, 1], 0)],
)
def test_a_new_worker_gets_the_place_with_fewest_workers(used, place) -> None:
    assert Places(2).least_used(used) == place


def test_a_place_is_silent_until_a_worker_reports_and_when_it_no_longer_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(memory.time, "monotonic", lambda: now)
    both = Places(2)
    assert both.is_silent(0)
    both.report(0)
    assert not both.is_silent(0)
    assert both.is_silent(1)
    now += 0.9
    assert not both.is_silent(0)
    now += 0.2
    assert both.is_silent(0)
