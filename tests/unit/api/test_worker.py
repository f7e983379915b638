"""When a worker begins to answer checks of readiness, and what it counts."""

import asyncio
import socket
from types import SimpleNamespace
from typing import Any, cast

import pytest

from readback.api.shared.memory import Counters
from readback.api.worker import ApiWorker


def new_worker(*, is_watched: bool) -> Any:
    """Return a worker that has not reached the database yet."""
    return SimpleNamespace(
        _lifecycle=SimpleNamespace(is_watched=is_watched),
        _keyring=SimpleNamespace(is_trusted=False),
        _health=SimpleNamespace(reading=SimpleNamespace(error="")),
        _stopping=asyncio.Event(),
        _ops_connections=None,
    )


async def is_accepting(task: "asyncio.Task[asyncio.Server]") -> bool:
    """Return whether it accepts, after it could have looked several times."""
    done, _ = await asyncio.wait([task], timeout=0.3)
    return bool(done)


def reach_database(worker: Any) -> None:
    worker._keyring.is_trusted = True


def find_it_unavailable(worker: Any) -> None:
    worker._health.reading.error = "no answer"


def begin_to_stop(worker: Any) -> None:
    worker._stopping.set()


@pytest.mark.parametrize("happen", [reach_database, find_it_unavailable, begin_to_stop])
def test_a_watched_worker_answers_when_it_knows_whether_it_is_ready(
    happen: Any,
) -> None:
    async def serve() -> None:
        worker = new_worker(is_watched=True)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            work = ApiWorker._accept_ops(cast(ApiWorker, worker), listener)
            task = asyncio.create_task(work)
            assert not await is_accepting(task)
            happen(worker)
            (await task).close()

    asyncio.run(serve())


def test_a_worker_that_nobody_watches_answers_at_once() -> None:
    async def serve() -> None:
        worker = new_worker(is_watched=False)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            (await ApiWorker._accept_ops(cast(ApiWorker, worker), listener)).close()

    asyncio.run(serve())


def test_look_ups_are_counted_and_slow_ones_again() -> None:
    counters = Counters(1)
    worker = cast(ApiWorker, SimpleNamespace(_counters=counters.row(0)))
    for seconds in (0.001, 0.2, 0.3, 2.0):
        ApiWorker._note_look_up(worker, seconds)
    counted = [counters.total(name) for name in ("key_lookups", "slow_key_lookups")]
    assert counted == [4, 2]
