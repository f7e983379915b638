"""Workers that share a table: real processes, killed and stopped while holding a lock.

Each scenario runs in a new process without threads, which forks the workers.
"""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any

import pytest

from readback.api.shared import limiter as limiter_module
from readback.api.shared.limiter import LOCK_SECONDS, Limiter

ALICE, BOB = b"alice", b"bob"
NOW = 1e6  # always the same, so no bucket is refilled
BURST = 500
_forks = get_context("fork")
Run = Callable[..., None]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run a scenario in a new process; raise what it raises."""
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        yield lambda scenario, *arguments: pool.submit(scenario, *arguments).result()


class Worker(_forks.Process):
    """A forked process that runs one function."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._results, self._there = _forks.Pipe(duplex=False)
        self.start()
        self._there.close()

    def run(self) -> None:
        self._there.send(self._work())

    def result(self) -> Any:
        result = self._results.recv()
        self.join()
        return result

    def status(self) -> int:
        """Wait until the process is stopped or has ended; return its status."""
        return os.waitpid(self.pid, os.WUNTRACED)[1]


class Signalling:
    """A view of the table; writing to it first sends a signal to this process."""

    def __init__(self, numbers: memoryview, number: signal.Signals) -> None:
        self._numbers, self._signal = numbers, number

    def __getitem__(self, index: int) -> Any:
        return self._numbers[index]

    def __setitem__(self, index: int, value: Any) -> None:
        os.kill(os.getpid(), self._signal)
        self._numbers[index] = value


def patient_limiter(burst: int = BURST) -> Limiter:
    """Return a limiter whose lock timeout is long and whose `created` never restarts.

    On a busy machine, a worker may get no CPU time for a second; other tests check
    what happens then.
    """
    limiter_module.CREATED_LEAD_SECONDS = 1 << 40
    limiter_module.LOCK_SECONDS = 60.0
    return Limiter(1, burst)


def use(limiter: Limiter, requests: int | None = None) -> list[int]:
    """Send this many requests, or use up the rate; return the values of `created`."""
    slot = limiter.slot(ALICE)
    return list(islice(iter(lambda: limiter.number(slot, NOW), 0), requests))


def eight_workers(burst: int) -> None:
    limiter, gate = patient_limiter(burst), _forks.Barrier(8)

    def work() -> list[int]:
        gate.wait()
        return use(limiter)

    workers = [Worker(work) for _ in range(8)]
    given = sorted(chain.from_iterable(worker.result() for worker in workers))
    # Each worker that got the lock received the next value.
    assert given == list(range(given[0], given[0] + burst))


@pytest.mark.parametrize(
    "burst", [10_000, pytest.param(1_000_000, marks=pytest.mark.long)]
)
def test_eight_workers_share_one_rate_and_number_their_answers_in_a_row(
    run: Run, burst: int
) -> None:
    run(eight_workers, burst)


def eight_workers_learn_new_keys() -> None:
    limiter, gate = patient_limiter(), _forks.Barrier(8)
    keys = [b"key %d" % number for number in range(1000)]

    def slots() -> dict[bytes, int]:
        gate.wait()
        return {key: limiter.slot(key) for key in keys}

    workers = [Worker(slots) for _ in range(8)]
    first, *others = [worker.result() for worker in workers]
    assert all(other == first for other in others)
    assert len(set(first.values())) == len(keys)


def test_workers_that_learn_of_keys_at_once_agree_on_a_slot_for_each(run: Run) -> None:
    run(eight_workers_learn_new_keys)


ACTIONS: dict[str, Callable[[Limiter], Any]] = {
    "admit": lambda limiter: limiter.admit(limiter.slot(ALICE), NOW),
    "number": lambda limiter: limiter.number(limiter.slot(ALICE), NOW),
    "slot": lambda limiter: limiter.slot(BOB),
}
VIEWS = {"admit": "_full_at", "number": "_last", "slot": "_owner"}


def interrupted(limiter: Limiter, action: str, number: signal.Signals) -> Worker:
    """Return a worker that gets a signal while it holds a lock."""
    view = VIEWS[action]

    def work() -> Any:
        limiter.slot(ALICE)
        setattr(limiter, view, Signalling(getattr(limiter, view), number))
        return ACTIONS[action](limiter)

    return Worker(work)


class TriesClock:
    """A clock that advances only at an attempt to lock, by a millisecond each time."""

    def __init__(self) -> None:
        self.tries = 0
        limiter_module.monotonic = lambda: self.tries / 1000
        limiter_module.os.sched_yield = self._note

    def _note(self) -> None:
        self.tries += 1
        assert self.tries < 1000, "it tries forever"


def all_actions(limiter: Limiter) -> None:
    for action in ACTIONS.values():
        action(limiter)


def killed_inside(action: str) -> None:
    limiter = patient_limiter()
    before = use(limiter, 3)
    killed = interrupted(limiter, action, signal.SIGKILL)
    assert os.WTERMSIG(killed.status()) == signal.SIGKILL
    clock = TriesClock()
    given = Worker(lambda: use(limiter)).result()
    all_actions(limiter)
    assert clock.tries == 0
    # The killed worker wrote nothing, so at most its own request is lost.
    left = BURST - 3 - (action == "number")
    assert given == list(range(before[-1] + 1, before[-1] + 1 + left))
    assert limiter.slot(BOB) != limiter.slot(ALICE)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_worker_killed_while_it_holds_a_lock_delays_no_one(
    run: Run, action: str
) -> None:
    run(killed_inside, action)


def stopped_inside(action: str) -> None:
    limiter = Limiter(1, BURST)
    limiter_module.CREATED_LEAD_SECONDS = 1 << 40
    before = use(limiter, 3)
    stopped = interrupted(limiter, action, signal.SIGSTOP)
    assert os.WIFSTOPPED(stopped.status())
    clock = TriesClock()
    try:
        meanwhile = use(limiter, 40)
        all_actions(limiter)
    finally:
        os.kill(stopped.pid, signal.SIGCONT)
    result = stopped.result()
    # Only one request waited, for no longer than allowed.
    assert 1 <= clock.tries <= 1000 * LOCK_SECONDS + 1
    assert meanwhile == list(range(before[-1] + 1, before[-1] + 41))
    clock.tries = 0
    after = use(limiter)
    limiter.slot(b"carol")
    assert clock.tries == 0 and not limiter._locks._stuck
    # Once resumed, the worker wrote what it was about to write when it was stopped.
    last = result if action == "number" else meanwhile[-1] + 1
    used = {"admit": 4, "number": 4 + 40 + 2, "slot": 3 + 40 + 2}[action]
    assert after == list(range(last + 1, last + 1 + BURST - used))


@pytest.mark.parametrize("action", ACTIONS)
def test_a_worker_stopped_while_it_holds_a_lock_sets_its_slot_back_at_most_once(
    run: Run, action: str
) -> None:
    """The others wait once, for a bounded time, and then go on without the lock."""
    run(stopped_inside, action)


def locked_in_a_file() -> None:
    del os.memfd_create
    eight_workers(1000)
    killed_inside("number")
    limiter = Limiter(1, 1)
    assert os.fstat(limiter._locks._file).st_nlink == 0


def test_without_memfd_the_locks_are_in_a_file_without_a_name(run: Run) -> None:
    run(locked_in_a_file)
