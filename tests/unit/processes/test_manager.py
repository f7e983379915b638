"""Which worker is started, told to stop or killed, and when; no process is started."""

import errno
import os
import time
from types import SimpleNamespace

import pytest
from tests.support.waiting import wait_until

from readback.processes import manager
from readback.processes.manager import Manager, WorkerGroup, WorkerProcess
from readback.processes.shared_counters import REPORTED_AT, SharedCounters


class Recorder(WorkerProcess):
    """A worker without a process; it records what the manager decides."""

    def tell_to_stop(self) -> None:
        self.leaving_since = time.monotonic()

    def kill(self) -> None:
        self.is_killed = True

    def report(self) -> None:
        self.counters.set(REPORTED_AT, int(time.monotonic() * 1000))


@pytest.fixture
def group() -> WorkerGroup:
    """A group for two workers, of which the first already serves."""
    server = SimpleNamespace(
        name="API",
        workers=2,
        counters=SharedCounters((), workers=2),
        prepare_service=None,
        stop_seconds=40,
    )
    group = WorkerGroup(server)
    [row] = group.missing_rows()  # the first starts alone
    start(group, row).report()
    group.has_served = True
    return group


def start(group: WorkerGroup, row: int) -> Recorder:
    worker = Recorder(group.server, row, pid=-row, started_at=time.monotonic())
    group.workers.append(worker)
    return worker


def start_missing(group: WorkerGroup) -> list[Recorder]:
    return [start(group, row) for row in group.missing_rows()]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The manager's clock; a test advances `now`."""
    clock = SimpleNamespace(now=time.monotonic())
    fake = SimpleNamespace(monotonic=lambda: clock.now)
    monkeypatch.setattr(manager, "time", fake)
    return clock


def test_old_workers_are_told_to_stop_once_all_new_ones_serve(
    group: WorkerGroup,
) -> None:
    old = [group.workers[0], *start_missing(group)]
    old[1].report()
    group.reload()
    new = start_missing(group)
    assert len({worker.row for worker in old + new}) == 4
    new[0].report()
    group.dismiss_old()
    assert not any(worker.leaving_since for worker in group.workers)
    new[1].report()
    group.dismiss_old()
    assert [bool(each.leaving_since) for each in old + new] == [1, 1, 0, 0]


def test_an_old_worker_that_is_still_starting_is_told_to_stop_once_it_serves(
    group: WorkerGroup,
) -> None:
    [late] = start_missing(group)
    group.reload()
    for worker in start_missing(group):
        worker.report()
    group.dismiss_old()
    assert not late.leaving_since
    late.report()
    group.dismiss_old()
    assert late.leaving_since


def test_a_worker_that_ends_again_and_again_is_replaced_more_and_more_slowly(
    group: WorkerGroup, clock: SimpleNamespace
) -> None:
    def die_after(seconds: float) -> float:
        """Return how long it takes until the next worker is started."""
        clock.now += seconds
        died_at = clock.now
        group.workers.pop()
        group.postpone()
        while not (rows := group.missing_rows()):
            clock.now += 0.01
        start(group, rows[0])
        return round(clock.now - died_at, 1)

    assert die_after(3600) == 0
    assert [die_after(1) for _ in range(12)] == [
        *(0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30)
    ]
    assert die_after(60) == 0
    assert die_after(1) == 0.1


@pytest.mark.parametrize("has_served", [True, False])
def test_a_worker_that_is_silent_for_30_seconds_is_killed(
    group: WorkerGroup, clock: SimpleNamespace, has_served: bool
) -> None:
    [worker] = start_missing(group)
    if has_served:
        worker.report()
    clock.now += 29
    group.workers[0].counters.set(REPORTED_AT, int(clock.now * 1000))
    group.kill_overdue()
    assert not worker.is_killed
    clock.now += 2
    group.kill_overdue()
    assert [each.is_killed for each in group.workers] == [False, True]


def test_a_worker_that_prepares_the_service_may_take_any_time(
    group: WorkerGroup, clock: SimpleNamespace
) -> None:
    group.server.prepare_service = lambda: None
    group.has_served = False
    clock.now += 3600
    group.kill_overdue()
    assert not group.workers[0].is_killed


def test_a_fork_that_fails_is_tried_again(
    group: WorkerGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fork(run: object) -> int:
        attempts.append(run)
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    attempts: list[object] = []
    monkeypatch.setattr(manager, "fork", fork)
    service = SimpleNamespace(_is_ready=lambda: True)
    for _ in range(3):
        wait_until(group.missing_rows, "the next one is started")
        [row] = group.missing_rows()
        Manager._start(service, group, row)
    assert len(attempts) == 3
