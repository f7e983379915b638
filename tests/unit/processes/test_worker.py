"""What a worker notices; no process is started here."""

import asyncio
import os
from types import SimpleNamespace
from typing import Any

import pytest

from readback.processes.lifecycle import Lifecycle
from readback.processes.worker import Worker


@pytest.mark.parametrize(
    ("service_stops", "manager_lives", "stops"),
    [(False, True, False), (True, True, True), (False, False, True)],
)
def test_a_worker_notices_that_it_must_stop(
    service_stops: bool, manager_lives: bool, stops: bool
):
    lifecycle = Lifecycle()
    if service_stops:
        lifecycle.stop()
    worker: Any = SimpleNamespace(
        lifecycle=lifecycle,
        stopping=asyncio.Event(),
        _manager=os.getppid() if manager_lives else -1,
    )
    Worker._notice_stop(worker)
    assert worker.stopping.is_set() is stops
    # Without a manager, nobody replaces the worker.
    assert lifecycle.is_stopping is (service_stops or not manager_lives)
