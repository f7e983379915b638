"""The queue in which new requests wait so that repeated ones are not delayed."""

import asyncio
from functools import partial

import pytest

from readback.api.http import fair_queue
from readback.api.http.fair_queue import PER_ROUND, FairQueue


def test_more_new_requests_are_handled_in_a_long_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Four requests per round of 50 ms would be only 80 a second.
    now = 0.0
    monkeypatch.setattr(fair_queue, "monotonic", lambda: now)

    async def work_done_in_a_busy_round() -> int:
        nonlocal now
        queue, done = FairQueue(), [0]
        for _ in range(1000):
            queue.enter(lambda: done.append(1))
        now = 0.05
        await asyncio.sleep(0)
        return sum(done)

    assert asyncio.run(work_done_in_a_busy_round()) == PER_ROUND + 500


def test_the_requests_of_a_long_round_go_to_all_who_wait() -> None:
    # Alice waits behind Mallory, who always has another request.
    async def order_of_a_long_round() -> list[str]:
        queue, order = FairQueue(), []
        for _ in range(PER_ROUND):
            assert queue.enter(lambda: None)

        def mallory() -> None:
            order.append("Mallory")
            while len(order) < 100 and queue.enter(mallory):
                order.append("Mallory")

        assert not queue.enter(mallory)
        assert not queue.enter(lambda: order.append("Alice"))
        queue._round_ended_at -= 60
        await asyncio.sleep(0)
        return order

    order = asyncio.run(order_of_a_long_round())
    assert order == ["Mallory", "Alice", *["Mallory"] * 98]


def test_work_that_enters_the_queue_again_gets_one_round_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_queue, "SECONDS_PER_EXTRA_REQUEST", 1000.0)

    async def most_in_one_iteration() -> int:
        queue, done = FairQueue(), [0]

        def work() -> None:
            done[0] += 1
            while queue.enter(work):
                done[0] += 1

        work()
        steps = []
        for _ in range(50):
            before = done[0]
            await asyncio.sleep(0)
            steps.append(done[0] - before)
        return max(steps)

    assert asyncio.run(most_in_one_iteration()) == PER_ROUND


def test_work_that_fails_does_not_stop_the_queue() -> None:
    async def done_after_a_failure() -> tuple[list[str], list[object]]:
        queue, done, errors = FairQueue(), [], []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: errors.append(what["exception"]))
        for _ in range(PER_ROUND):
            assert queue.enter(lambda: None)

        def fail() -> None:
            raise ZeroDivisionError

        queue.enter(fail)
        for name in ("Alice", "Bob"):
            queue.enter(partial(done.append, name))
        for _ in range(5):
            await asyncio.sleep(0)
        return done, errors

    done, errors = asyncio.run(done_after_a_failure())
    assert done == ["Alice", "Bob"]
    assert [type(error) for error in errors] == [ZeroDivisionError]
