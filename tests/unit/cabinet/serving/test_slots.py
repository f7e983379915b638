"""Slots: a few threads at once, and none is lost."""

import threading

import pytest
from tests.support.waiting import wait_until

from readback.cabinet.serving.slots import NoFreeSlot, Slots


def test_a_result_and_an_error_reach_the_caller():
    slots = Slots(1)
    assert slots.run(lambda: 7, 60) == 7
    with pytest.raises(ZeroDivisionError):
        slots.run(lambda: 1 // 0, 60)
    assert slots.free == 1


def test_a_slot_is_in_use_until_its_thread_ends():
    slots, end = Slots(1), threading.Event()
    with pytest.raises(TimeoutError):
        slots.run(end.wait, 0.01)
    with pytest.raises(NoFreeSlot):
        slots.run(end.wait, 60)
    end.set()
    wait_until(lambda: slots.free == 1, "the thread has ended")


@pytest.mark.parametrize(
    ("raised", "expected"), [(RuntimeError, NoFreeSlot), (MemoryError, MemoryError)]
)
def test_a_thread_that_cannot_be_started_gives_its_slot_back(
    monkeypatch, raised, expected
):
    slots = Slots(2)

    def fail(self: object) -> None:
        raise raised

    monkeypatch.setattr(threading.Thread, "start", fail)
    for _ in range(5):
        with pytest.raises(expected):
            slots.run(lambda: None, 60)
    assert slots.free == 2
