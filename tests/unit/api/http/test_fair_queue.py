"""The queue in which new requests wait so that repeated ones are not delayed."""

import asyncio
import time

from readback.api.http.fair_queue import FairQueue


def test_more_new_requests_are_handled_in_a_long_round() -> None:
    # Four requests per round of 50 ms would be only 80 a second.
    async def work_done_in_a_busy_round() -> int:
        queue, done = FairQueue(), [0]
        for _ in range(1000):
            queue.enter(lambda: done.append(1))
        time.sleep(0.05)
        await asyncio.sleep(0)
        return sum(done)

    assert asyncio.run(work_done_in_a_busy_round()) >= 500
