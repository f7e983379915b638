"""Whether a load balancer must learn of a shutdown before it happens."""

import time
from types import SimpleNamespace

import pytest

from readback.processes import lifecycle
from readback.processes.lifecycle import Lifecycle


@pytest.mark.parametrize(
    ("seconds", "is_watched"), [(0, True), (100, True), (130, False)]
)
def test_one_check_counts_for_two_minutes(monkeypatch, seconds, is_watched):
    shared, later = Lifecycle(), time.monotonic() + seconds
    assert shared.answer_check()
    clock = SimpleNamespace(monotonic=lambda: later)
    monkeypatch.setattr(lifecycle, "time", clock)
    assert shared.is_watched is is_watched


def test_a_check_is_recorded_before_it_looks_for_a_stop():
    # In this order, the check sees the stop, or the stop sees the check.
    class Stopping(Lifecycle):
        @property
        def is_stopping(self) -> bool:
            seen_by_the_stop.append(self.is_watched)
            return super().is_stopping

    seen_by_the_stop: list[bool] = []
    assert Stopping().answer_check()
    assert seen_by_the_stop == [True]
