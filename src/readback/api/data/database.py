"""The one thread of a worker that uses the database.

It does one small thing after the other, each a statement or a transaction of bounded
size: look up unknown keys, refresh known ones, write usage and journal, write unmatched
requests, delete what is too old. So a flood of unknown keys delays neither the refresh
nor the journal. The event loop's side is `clerk.py`.

Any exception ends only the thing at hand, and is reported as the error of what it was
for. One outcome that can never be written does not keep the others from being written.
"""

import asyncio
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from math import inf
from queue import Empty, SimpleQueue
from typing import ParamSpec, Protocol

from readback import logs
from readback.api.data.dialects import StoreError
from readback.api.data.health import DependencyStatus, Health
from readback.api.data.journal import Tally
from readback.api.data.store import (
    KEYS_PER_LOOK_UP,
    TALLIES_PER_TRANSACTION,
    CommitInDoubt,
    KeyRows,
    Store,
    UnmatchedEvent,
)
from readback.api.data.unmatched import UnmatchedWriter
from readback.shared_counters import WorkerCounters

log = logging.getLogger("readback.api")

P = ParamSpec("P")

# Under a flood, look-ups are this far apart, so it costs at most a hundred statements a
# second. A few in a row need not wait.
LOOK_UP_SECONDS = 0.01
LOOK_UP_BURST = 50
CLEANING_SECONDS = 3600.0
CLEANING_RETRY_SECONDS = 60.0
# If the wall clock was changed by more than this since the last cleaning, it may still
# be wrong, and what is deleted does not come back.
CLOCK_CHANGE_SECONDS = 60.0
# If more than this many batches of a round fail, the rest waits for the next round. It
# takes ten to find one outcome among 500.
MAX_FAILED_BATCHES = 40
# How often to ask what became of a transaction.
SETTLING_SECONDS = 0.5
# While there is more to delete, and after an error, this long passes between attempts.
RETRY_SECONDS = 0.1


class Receiver(Protocol):
    """What the event loop does with the results; `Clerk` explains each."""

    def looked_up(self, digests: list[bytes], rows: KeyRows) -> None: ...
    def look_up_failed(self, digests: list[bytes]) -> None: ...
    def refreshed(self, digests: list[bytes], rows: KeyRows) -> None: ...
    def refresh_ended(self, confirmed_at: float | None) -> None: ...
    def not_written(self, tallies: list[Tally]) -> None: ...
    def rejected(self, tallies: list[Tally]) -> None: ...
    def write_ended(self) -> None: ...


class DatabaseThread:
    """Carries out tasks, and delivers their results.

    Both are calls that are passed to the other thread. What one thread passes to the
    other, it does not touch again.
    """

    def __init__(self, store: Store, health: Health, counters: WorkerCounters) -> None:
        self._store = store
        self._health = health
        self._counters = counters
        self._tasks: SimpleQueue[Callable[[], object]] = SimpleQueue()
        # Everything below belongs to the thread alone.
        self._unknown: list[bytes] = []
        self._known: deque[list[bytes]] = deque()
        self._known_asked_at = 0.0
        self._tallies: list[Tally] = []
        # Smaller while an outcome that cannot be written is being found.
        self._batch_size = TALLIES_PER_TRANSACTION
        self._failed_batches = 0
        # A batch that may have been written: writing it again could count it twice.
        self._doubt: CommitInDoubt | None = None
        self._doubtful: list[Tally] = []
        self._next_settling = inf
        self._unmatched = UnmatchedWriter(store, health, self._note_error)
        self._next_look_up = 0.0
        # At another time in each worker, so that they do not clean up together; and not
        # at once, because the clock of a machine that starts may be wrong.
        pause = random.uniform(0.2, 1) * CLEANING_SECONDS
        self._next_cleaning = time.monotonic() + pause
        self._clock_offset = _clock_offset()
        self._stop_at = inf
        # Whether what cannot be written goes back to the event loop. Both threads use
        # this, under the lock.
        self._gives_back = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="database", daemon=True)

    # Called by the event loop.

    def start(self, loop: asyncio.AbstractEventLoop, receiver: Receiver) -> None:
        self._loop = loop
        self._receiver = receiver
        self._thread.start()

    def look_up(self, digests: list[bytes]) -> None:
        """Look up keys that this worker does not know yet."""
        self._tasks.put(lambda: self._unknown.extend(digests))

    def refresh(self, digests: list[bytes], asked_at: float) -> None:
        """Ask again about all keys that this worker knows."""
        self._tasks.put(partial(self._begin_refresh, digests, asked_at))

    def write(self, tallies: list[Tally]) -> None:
        """Write usage and journal."""
        self._tasks.put(lambda: self._tallies.extend(tallies))

    def write_unmatched(self, counts: Mapping[UnmatchedEvent, int], at: float) -> None:
        """Write how often each unmatched request has occurred, or drop it."""
        self._tasks.put(partial(self._unmatched.add, counts, at))

    def stop(self, deadline: float) -> None:
        """Write what is left until the deadline, then end."""
        self._tasks.put(partial(setattr, self, "_stop_at", deadline))

    def keep_unwritten(self) -> None:
        """Retry what cannot be written: the event loop is about to stop.

        What the thread has given back before is in the event loop's queue on return.
        """
        with self._lock:
            self._gives_back = False

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    # The thread.

    def _run(self) -> None:
        while not self._is_over():
            try:
                self._take_tasks()
                self._work()
            except Exception as error:  # which nothing else has caught: carry on
                self._note_error(self._health.reading, error)
                self._unmatched.counts.clear()
                self._end_refresh()
                self._set_aside_all()
                self._end_write()
                time.sleep(RETRY_SECONDS)
        self._store.close()
        if lost := sum(tally.requests for tally in self._tallies + self._doubtful):
            log.error("stopped before the usage of %d requests was written", lost)

    def _is_over(self) -> bool:
        if self._stop_at == inf:
            return False
        done = not (self._tallies or self._doubt or self._unmatched.counts)
        return done or time.monotonic() > self._stop_at

    @property
    def _can_write(self) -> bool:
        # One doubt at a time.
        return bool(self._tallies) and not self._doubt

    def _take_tasks(self) -> None:
        """Wait until there is something to do, and take all tasks that have arrived."""
        now = time.monotonic()
        due = min(self._next_cleaning, self._next_settling, self._unmatched.due)
        with suppress(Empty):
            if self._known or self._can_write:
                pass
            elif self._unknown:
                # Asleep, not in the queue: a flood of keys must not wake this thread.
                time.sleep(max(0.0, min(due, self._next_look_up) - now))
            else:
                self._tasks.get(timeout=max(0.0, due - now))()
            while True:
                self._tasks.get_nowait()()

    def _begin_refresh(self, digests: list[bytes], asked_at: float) -> None:
        self._known_asked_at = asked_at
        # One part even without keys: it finds out whether the database answers.
        starts = range(0, max(1, len(digests)), KEYS_PER_LOOK_UP)
        self._known.extend(digests[at : at + KEYS_PER_LOOK_UP] for at in starts)

    def _work(self) -> None:
        """Do a little of what is waiting, the most urgent first."""
        if self._unknown and time.monotonic() >= self._next_look_up:
            self._look_up()
        if self._known:
            self._refresh()
        elif time.monotonic() >= self._next_settling:
            self._settle()
        elif self._can_write:
            self._write()
        elif time.monotonic() >= self._unmatched.due:
            self._unmatched.work()
        elif time.monotonic() >= self._next_cleaning:
            self._clean()
        self._counters.add("statements", self._store.take_statements())

    def _look_up(self) -> None:
        digests = self._unknown[:KEYS_PER_LOOK_UP]
        del self._unknown[:KEYS_PER_LOOK_UP]
        earliest = time.monotonic() - LOOK_UP_BURST * LOOK_UP_SECONDS
        self._next_look_up = max(self._next_look_up, earliest) + LOOK_UP_SECONDS
        try:
            rows = self._store.keys(digests)
        except Exception as error:
            self._note_error(self._health.reading, error)
            self._deliver(self._receiver.look_up_failed, digests)
        else:
            self._deliver(self._receiver.looked_up, digests, rows)

    def _refresh(self) -> None:
        digests = self._known.popleft()
        try:
            rows = self._store.keys(digests)
        except Exception as error:
            self._note_error(self._health.reading, error)
            self._end_refresh()
            return
        self._health.reading.succeeded()
        self._deliver(self._receiver.refreshed, digests, rows)
        if not self._known:
            self._deliver(self._receiver.refresh_ended, self._known_asked_at)

    def _end_refresh(self) -> None:
        self._known.clear()
        self._deliver(self._receiver.refresh_ended, None)

    def _write(self) -> None:
        batch = self._tallies[: self._batch_size]
        try:
            locked_out = self._store.record(batch)
        except CommitInDoubt as doubt:
            self._note_error(self._health.writing, doubt)
            del self._tallies[: len(batch)]
            self._doubt, self._doubtful = doubt, batch
            self._next_settling = time.monotonic()
            self._set_aside_all()
        except Exception as error:
            self._note_error(self._health.writing, error)
            self._failed_batches += 1
            # Otherwise the database is the reason, and no batch would succeed.
            is_ours = not isinstance(error, StoreError) or error.permanent
            if is_ours and self._failed_batches <= MAX_FAILED_BATCHES:
                self._take_out(batch, permanent=isinstance(error, StoreError))
            else:
                self._set_aside_all()
        else:
            self._health.writing.succeeded()
            del self._tallies[: len(batch)]
            self._batch_size = min(2 * self._batch_size, TALLIES_PER_TRANSACTION)
            self._set_aside(locked_out)
        self._end_write()

    def _take_out(self, batch: list[Tally], *, permanent: bool) -> None:
        """Drop or set aside the outcome that makes its batch fail, and no other.

        It is found by trying smaller batches, until it is alone in one.
        """
        self._batch_size = max(1, len(batch) // 2)
        if len(batch) > 1:
            return
        del self._tallies[:1]
        if permanent:
            self._deliver(self._receiver.rejected, batch)
        else:
            self._set_aside(batch)

    def _settle(self) -> None:
        """Find out whether the batch in doubt was written; if not, set it aside."""
        doubt, batch = self._doubt, self._doubtful
        assert doubt
        self._next_settling = time.monotonic() + SETTLING_SECONDS
        try:
            committed = self._store.was_committed(doubt.transaction)
        except Exception as error:
            self._note_error(self._health.writing, error)
            return
        if committed is None:
            return
        self._doubt, self._doubtful, self._next_settling = None, [], inf
        self._health.writing.succeeded()
        self._set_aside(doubt.locked_out if committed else batch)
        self._end_write()

    def _end_write(self) -> None:
        if not self._tallies and not self._doubt:
            self._batch_size = TALLIES_PER_TRANSACTION
            self._failed_batches = 0
            self._deliver(self._receiver.write_ended)

    def _set_aside_all(self) -> None:
        tallies, self._tallies = self._tallies, []
        self._set_aside(tallies)

    def _set_aside(self, tallies: list[Tally]) -> None:
        """Return what could not be written, or keep it if the worker is stopping."""
        if not tallies:
            return
        with self._lock:
            if self._gives_back:
                self._deliver(self._receiver.not_written, tallies)
                return
        self._tallies += tallies
        time.sleep(RETRY_SECONDS)

    def _clean(self) -> None:
        before, self._clock_offset = self._clock_offset, _clock_offset()
        clock_was_set = abs(self._clock_offset - before) > CLOCK_CHANGE_SECONDS
        pause = CLEANING_RETRY_SECONDS
        try:
            done = clock_was_set or self._store.clean(time.time())
            pause = CLEANING_SECONDS if done else RETRY_SECONDS
            self._health.cleaning.succeeded()
        except Exception as error:
            self._note_error(self._health.cleaning, error)
        self._next_cleaning = time.monotonic() + pause

    def _note_error(self, status: DependencyStatus, error: Exception) -> None:
        self._counters.add("database_errors")
        if isinstance(error, StoreError):
            status.failed(str(error), busy=error.busy)
            return
        # Unexpected, so the connection may be in any state.
        if status.failed(type(error).__name__):
            log.error("error in the database thread: %s", logs.describe_error(error))
        self._store.close()

    def _deliver(
        self, receive: Callable[P, None], *values: P.args, **named: P.kwargs
    ) -> None:
        """Pass a result to the event loop."""
        step = partial(receive, *values, **named)
        # A closed event loop raises: the worker is stopping and waits for nothing.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._health.rounds.guard, step)


def _clock_offset() -> float:
    """Return a number that changes only when the wall clock is set."""
    return time.time() - time.monotonic()
