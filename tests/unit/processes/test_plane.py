"""Who is told to stop, and what notices it; no process is started here."""

import asyncio
import os
import signal
import time
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.app.base import BaseApplication

from readback.processes.lifecycle import Lifecycle
from readback.processes.plane import Arbiter, PlaneWorker
from readback.processes.shared_counters import SharedCounters, rows_for


class Application(BaseApplication):
    lifecycle = Lifecycle()
    counters = SharedCounters((), rows_for(1))

    def load_config(self) -> None:
        self.cfg.set("workers", 1)


class Recorder(Arbiter):
    """Starts and signals nothing; workers report when the test says so."""

    def __init__(self) -> None:
        super().__init__(Application())
        self.WORKERS = {}  # gunicorn's belongs to the class
        self.told_to_stop: list[int] = []

    def spawn_worker(self) -> None:
        self.worker_age += 1
        # Before its first report, a worker's file has the time of the wall clock.
        tmp = SimpleNamespace(last_update=time.time)
        self.WORKERS[self.worker_age] = SimpleNamespace(pid=self.worker_age, tmp=tmp)

    def kill_worker(self, pid: int, sig: int) -> None:
        assert sig == signal.SIGTERM
        self.told_to_stop.append(pid)

    def report(self, pid: int) -> None:
        self.WORKERS[pid].tmp.last_update = time.monotonic
        self.manage_workers()


@pytest.fixture
def master() -> Recorder:
    made = Recorder()
    made.manage_workers()
    assert made.WORKERS.keys() == {1}
    return made


def reload(master: Recorder) -> None:
    master.reload()
    master.manage_workers()


def test_a_worker_that_is_replaced_while_it_starts_is_told_once_it_serves(
    master: Recorder,
):
    # Until then the signal would be lost, and the worker would stay forever.
    reload(master)
    master.report(2)
    assert master.told_to_stop == []
    master.report(1)
    master.manage_workers()
    assert master.told_to_stop == [1]


def test_a_worker_serves_until_the_one_that_replaces_it_does(master: Recorder):
    master.report(1)
    reload(master)
    assert master.told_to_stop == []
    master.report(2)
    assert master.told_to_stop == [1]


def test_signals_do_not_change_the_number_of_workers(master: Recorder):
    for handle in (master.handle_ttin, master.handle_ttou, master.handle_ttou):
        handle()
        master.manage_workers()
    assert master.WORKERS.keys() == {1}
    assert master.told_to_stop == []


@pytest.mark.parametrize(
    ("alive", "service_stops", "master_lives", "stops"),
    [
        (True, False, True, False),
        (False, False, True, True),  # a signal arrived before the event loop ran
        (True, True, True, True),
        (True, False, False, True),
    ],
)
def test_a_worker_notices_that_it_must_stop(
    alive: bool, service_stops: bool, master_lives: bool, stops: bool
):
    lifecycle = Lifecycle()
    if service_stops:
        lifecycle.stop()
    worker: Any = SimpleNamespace(
        alive=alive,
        ppid=os.getppid() if master_lives else -1,
        _lifecycle=lifecycle,
        _stopping=asyncio.Event(),
    )
    PlaneWorker._notice_stop(worker)
    assert worker._stopping.is_set() is stops
    # Without a master, nobody replaces the worker.
    assert lifecycle.is_stopping is (service_stops or not master_lives)
