"""How long a new worker waits for the database before it serves."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from readback.api.server import ApiWorker


@pytest.mark.parametrize("event", ["it can", "it cannot", "a stop"])
def test_a_worker_serves_once_it_knows_whether_it_can_read_keys(event: str) -> None:
    async def start() -> None:
        keyring, reading = SimpleNamespace(is_trusted=False), SimpleNamespace(error="")
        worker: Any = SimpleNamespace(
            _keyring=keyring,
            _health=SimpleNamespace(reading=reading),
            stopping=asyncio.Event(),
        )
        task = asyncio.create_task(ApiWorker._reach_database(worker))
        # During the timeout, the worker checks several times.
        assert not (await asyncio.wait([task], timeout=0.3))[0]
        if event == "it can":
            keyring.is_trusted = True
        elif event == "it cannot":
            reading.error = "no answer"
        else:
            worker.stopping.set()
        await task

    asyncio.run(start())
