"""How long a new worker waits for the database before it serves."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from readback.api.server import ApiWorker


def new_worker() -> Any:
    """Return a worker that has not reached the database yet."""
    return SimpleNamespace(
        _keyring=SimpleNamespace(is_trusted=False),
        _health=SimpleNamespace(reading=SimpleNamespace(error="")),
        stopping=asyncio.Event(),
    )


def reach_database(worker: Any) -> None:
    worker._keyring.is_trusted = True


def find_it_unavailable(worker: Any) -> None:
    worker._health.reading.error = "no answer"


def begin_to_stop(worker: Any) -> None:
    worker.stopping.set()


@pytest.mark.parametrize("happen", [reach_database, find_it_unavailable, begin_to_stop])
def test_a_worker_serves_once_it_knows_whether_it_can_read_keys(happen: Any) -> None:
    async def start() -> None:
        worker = new_worker()
        task = asyncio.create_task(ApiWorker._reach_database(cast(ApiWorker, worker)))
        # During the timeout, the worker checks several times.
        assert not (await asyncio.wait([task], timeout=0.3))[0]
        happen(worker)
        await task

    asyncio.run(start())
