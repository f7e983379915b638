"""Two workers answer one key at the same time, each request once."""

import asyncio
import multiprocessing
from typing import Any, cast

from tests.support.work import UNLIMITED, Worker, _chat

from readback import keys
from readback.api.shared.created import Limiter

WORKERS, REQUESTS = 2, 3000


def answer_in_worker(
    rates: Limiter, number: int, key: str, together: Any, results: Any
) -> None:
    rates.join(number)
    worker = Worker(rates)
    asyncio._set_running_loop(cast(asyncio.AbstractEventLoop, worker.loop))
    worker._add_key(keys.digest(key.encode()))
    replies = worker.api._services.replies
    completion, rendered = replies.completion, 0

    def counted(*args: Any) -> bytes:
        nonlocal rendered
        rendered += 1
        return completion(*args)

    replies.completion = counted  # type: ignore[method-assign]
    connection, transport = worker.connect()
    sent = _chat(key)
    together.wait()
    for _ in range(REQUESTS):
        connection.data_received(sent)
        assert transport.response.startswith(b"HTTP/1.1 200 ")
    results.put(rendered)


def test_each_answer_is_rendered_once() -> None:
    """A number that is given out is final, whatever the other worker does."""
    key, rates = keys.mint(), Limiter(UNLIMITED, UNLIMITED, workers=WORKERS)
    context = multiprocessing.get_context("fork")
    together, results = context.Barrier(WORKERS), context.SimpleQueue()
    processes = [
        context.Process(
            target=answer_in_worker, args=(rates, number, key, together, results)
        )
        for number in range(WORKERS)
    ]
    for process in processes:
        process.start()
    rendered = [results.get() for _ in processes]
    for process in processes:
        process.join()
    assert rendered == [REQUESTS] * WORKERS
