"""One coroutine decides when a worker uses the database, and for what.

Only a request whose key is not known yet waits for the database. All known keys are
refreshed twice a second; usage and the journal are written in batches. So the load on
the database depends on the number of workers and active keys, not on the number of
requests.

The coroutine does one small piece of work at a time, the most urgent first, so a flood
of unknown keys delays neither the refresh nor the journal. Statements run in the
database thread while the event loop handles requests. An exception ends only the
current piece of work.
"""

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import inf
from typing import Any, TypeVar

from readback.api.data.dialects import StoreError
from readback.api.data.health import DependencyStatus, Health
from readback.api.data.journal import Journal, Tally
from readback.api.data.keyring import Keyring
from readback.api.data.store import TALLIES_PER_TRANSACTION, Store
from readback.api.data.unmatched import UnmatchedRequests
from readback.processes.shared_counters import WorkerCounters

log = logging.getLogger("readback.api")

Result = TypeVar("Result")

# If a refresh takes longer than this, the thread is considered stuck.
STUCK_SECONDS = 5.0
STOP_SECONDS = 8.0
# The interval between lookups, which limits a flood of unknown keys to a hundred
# statements a second. Answering all requests that waited for a lookup takes a few
# milliseconds.
LOOK_UP_SECONDS = 0.01
KEYS_PER_LOOK_UP = 100
# How often to delete unmatched requests that pages no longer show.
EXPIRY_SECONDS = 30.0
CLEANING_SECONDS = 3600.0
CLEANING_RETRY_SECONDS = 60.0
MEASUREMENT_SECONDS = 10.0
# The pause before the next attempt, after an error or if there is more to delete.
RETRY_SECONDS = 0.5


class Database:
    """Keeps the keyring and the journal in step with the database."""

    def __init__(self, store: Store, health: Health, counters: WorkerCounters) -> None:
        self._store = store
        self._health = health
        self._counters = counters
        self._is_stopping = False
        self._asked: list[bytes] = []
        self._next_look_up = 0.0
        # The digests that still have to be refreshed, and when this refresh began.
        self._known: deque[list[bytes]] = deque()
        self._refreshing_since = inf
        self._closing: asyncio.Task[None] | None = None
        # The batch that is being written. After an error it may still have been
        # written, so nothing else is written until another attempt has succeeded.
        self._batch: list[Tally] = []
        self._next_write = 0.0
        self._unmatched_are_due = False
        self._next_expiry = time.monotonic() + random.uniform(0, EXPIRY_SECONDS)
        self._next_measurement = 0.0
        # Each worker cleans at a different time, and none right away, because the clock
        # may be wrong just after the machine has booted.
        pause = random.uniform(0.2, 1) * CLEANING_SECONDS
        self._next_cleaning = time.monotonic() + pause

    def start(
        self, keyring: Keyring, journal: Journal, unmatched: UnmatchedRequests
    ) -> None:
        self._keyring = keyring
        self._journal = journal
        self._unmatched = unmatched
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "database")
        self._task = self._loop.create_task(self._run())

    def look_up(self, digest: bytes) -> None:
        self._counters.add("key_lookups")
        if self._health.reading.error:
            # The next refresh will find out whether the database is back.
            self._loop.call_soon(self._keyring.fail, [digest])
            return
        if not self._asked:  # a flood must not wake the coroutine for every key
            self._wake.set()
        self._asked.append(digest)

    def tick(self, known: list[bytes], now: float, wall: float) -> None:
        """Refresh the known keys and write what is due, unless that is still under way.

        Refreshing and writing are independent, so a backlog of writes does
        not delay revocations.
        """
        if self._closing is None or self._closing.done():
            self._closing = self._loop.create_task(self._close_tallies(now, wall))
        if self._refreshing_since == inf:
            self._refreshing_since = now
            # Even without keys, this shows whether the database answers.
            size = self._store.rows_per_statement
            starts = range(0, max(1, len(known)), size)
            self._known.extend(known[at : at + size] for at in starts)
        elif now - self._refreshing_since > STUCK_SECONDS:
            self._health.reading.failed(f"no answer for {STUCK_SECONDS:g} seconds")
        self._unmatched_are_due = True
        self._wake.set()

    @property
    def pending_rows(self) -> int:
        return len(self._journal) + len(self._batch)

    async def stop(self) -> None:
        """Write the remaining rows, within a limited time."""
        self._is_stopping = True
        if self._closing:
            self._closing.cancel()
        self._journal.hurry()
        self._journal.close(time.monotonic(), time.time())
        self._wake.set()
        await asyncio.wait([self._task], timeout=STOP_SECONDS)
        self._task.cancel()
        left = self._journal.fetch(self.pending_rows, self._keyring.last_created)
        if lost := sum(tally.requests for tally in (*self._batch, *left)):
            log.error("stopped before the usage of %d requests was written", lost)

    async def _close_tallies(self, now: float, wall: float) -> None:
        """Close tallies in small steps, so that requests are answered in between."""
        try:
            for _ in self._journal.close_in_parts(now, wall):
                await asyncio.sleep(0)
        except Exception as error:
            self._health.note_unexpected(error)
        self._wake.set()

    async def _run(self) -> None:
        while self.pending_rows or not self._is_stopping:
            try:
                await self._work()
            except Exception as error:
                self._health.note_unexpected(error)
                await asyncio.sleep(RETRY_SECONDS)
        await self._call(self._store.close)

    async def _work(self) -> None:
        if self._asked and time.monotonic() >= self._next_look_up:
            await self._look_up()
        now = time.monotonic()
        if self._known:
            await self._refresh_part()
        elif self.pending_rows and now >= self._next_write:
            await self._write_batch()
        elif self._unmatched_are_due:
            await self._tend_unmatched()
        elif now >= self._next_measurement:
            await self._measure_disk()
        elif now >= self._next_cleaning:
            await self._clean()
        else:
            pause = self._next_look_up - now if self._asked else RETRY_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            self._wake.clear()

    async def _call(self, work: Callable[..., Result], *args: Any) -> Result:
        try:
            return await self._loop.run_in_executor(self._thread, work, *args)
        except StoreError:
            raise
        except Exception:
            # The connection may be in any state, so it is not used again.
            await self._loop.run_in_executor(self._thread, self._store.close)
            raise
        finally:
            self._counters.add("statements", self._store.take_statements())

    async def _look_up(self) -> None:
        digests = self._asked[:KEYS_PER_LOOK_UP]
        del self._asked[:KEYS_PER_LOOK_UP]
        self._next_look_up = time.monotonic() + LOOK_UP_SECONDS
        try:
            rows = await self._call(self._store.keys, digests)
        except Exception as error:
            self._note_error(self._health.reading, error)
            digests += self._asked
            self._asked.clear()
            self._keyring.fail(digests)
        else:
            self._keyring.learn(digests, rows)

    async def _refresh_part(self) -> None:
        digests = self._known.popleft()
        try:
            rows = await self._call(self._store.keys, digests)
            self._keyring.learn(digests, rows)
        except Exception as error:
            self._note_error(self._health.reading, error)
            self._known.clear()
            self._refreshing_since = inf
            return
        self._health.reading.succeeded()
        if not self._known:
            self._keyring.confirmed_at = self._refreshing_since
            self._refreshing_since = inf

    async def _write_batch(self) -> None:
        self._batch = self._batch or self._journal.fetch(
            TALLIES_PER_TRANSACTION, self._keyring.last_created
        )
        try:
            locked_out = await self._call(self._store.record, self._batch)
        except Exception as error:
            self._note_error(self._health.writing, error)
            is_transient = isinstance(error, StoreError) and not error.permanent
            if not is_transient and len(self._batch) > 1:
                # Halve the batch until it contains only the row that fails.
                half = len(self._batch) // 2
                self._journal.give_back(self._batch[half:])
                del self._batch[half:]
                return
            self._next_write = time.monotonic() + RETRY_SECONDS
            if is_transient:
                return
            if isinstance(error, StoreError):
                self._journal.drop(self._batch)  # it can never be written
            else:
                self._journal.give_back(self._batch)
        else:
            self._health.writing.succeeded()
            self._journal.give_back(locked_out)
            if locked_out:
                self._next_write = time.monotonic() + RETRY_SECONDS
        self._batch = []

    async def _tend_unmatched(self) -> None:
        """Write unmatched requests, and from time to time delete old ones.

        Requests that cannot be written are dropped. After an error, every tick tries to
        delete: only a success clears the error, and the next write may be hours away.
        """
        self._unmatched_are_due = False
        counts = self._unmatched.fetch()
        now = time.monotonic()
        if self._health.reading.error:
            return  # they would be too old once the database is back
        try:
            if now >= self._next_expiry or self._health.unmatched.error:
                await self._call(self._store.delete_unmatched, time.time())
                self._next_expiry = now + EXPIRY_SECONDS
            if counts:
                await self._call(self._store.write_unmatched, counts, time.time())
        except Exception as error:
            self._note_error(self._health.unmatched, error)
        else:
            self._health.unmatched.succeeded()

    async def _measure_disk(self) -> None:
        """Measure the free disk space in the database thread, because it may block."""
        self._next_measurement = time.monotonic() + MEASUREMENT_SECONDS
        try:
            free = await self._call(self._store.free_disk_bytes)
        except OSError:
            free = 0
        self._counters.set("database_disk_free", free)

    async def _clean(self) -> None:
        pause = CLEANING_RETRY_SECONDS
        try:
            done = await self._call(self._store.clean, time.time())
            pause = CLEANING_SECONDS if done else RETRY_SECONDS
            self._health.cleaning.succeeded()
        except Exception as error:
            self._note_error(self._health.cleaning, error)
        self._next_cleaning = time.monotonic() + pause

    def _note_error(self, status: DependencyStatus, error: Exception) -> None:
        self._counters.add("database_errors")
        if isinstance(error, StoreError):
            status.failed(str(error), busy=error.busy)
        else:
            status.failed(type(error).__name__)
            self._health.note_unexpected(error)
