"""API workers: when they begin to serve, and when they lock keys."""

import asyncio
import socket
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from readback import config
from readback.api.server import ApiWorker, api_server
from readback.api.shared.limiter import Limiter
from readback.processes.lifecycle import Lifecycle


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


def worker_and_locks(workers: int, row: int = 0) -> tuple[Any, list[int]]:
    """Return a server with one worker, and the numbers of the locks that it takes."""
    with socket.socket() as listener:
        settings = config.read({"READBACK_WORKERS": str(workers)})
        server = api_server(settings, Lifecycle(), [listener])
        limiter = Limiter(1, 1)
        ApiWorker(limiter, server, row)
    locks: list[int] = []
    limiter._locks._try = locks.append  # type: ignore[assignment]
    use = partial(limiter.number, limiter.slot(b"alice"), 0.0)
    return SimpleNamespace(counters=server.counters, answer=use), locks


@pytest.mark.parametrize("row", [0, 1])
def test_the_only_worker_locks_keys_while_a_reload_adds_another(row: int) -> None:
    worker, locks = worker_and_locks(1, row)
    worker.counters.row(row).set("workers", 1)
    worker.answer()
    assert not locks
    other = worker.counters.row(1 - row)
    other.set("workers", 1)
    worker.answer()
    assert len(locks) == 1
    other.retire()
    worker.answer()
    assert len(locks) == 1


def test_several_workers_always_lock_keys() -> None:
    worker, locks = worker_and_locks(2)
    locks.clear()
    worker.answer()
    assert len(locks) == 1
