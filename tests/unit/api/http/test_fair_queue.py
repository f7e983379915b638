"""The queue that gives new requests their turn behind repeated ones."""

import asyncio
import time

from readback.api.http.fair_queue import FairQueue


def test_new_requests_get_more_turns_when_the_known_keep_the_loop_busy() -> None:
    # Four in a round of fifty milliseconds would be eighty a second.
    async def work_done_in_a_busy_round() -> int:
        turns, done = FairQueue(), [0]
        for _ in range(1000):
            turns.enter(lambda: done.append(1))
        time.sleep(0.05)
        await asyncio.sleep(0)
        return sum(done)

    assert asyncio.run(work_done_in_a_busy_round()) >= 500
