"""The one thread of a worker that owns the database.

Requests never wait for it but for a key that is not known yet. It does one small
thing after the other, each a statement or a transaction of bounded size: unknown keys
are looked up many at once, all known keys are asked about again twice a second, usage
and journal are written, and what is too old is deleted. So the load on the database
follows the number of workers and of active keys, not of requests; and a flood of
unknown keys delays neither the refresh of known ones nor the journal.
"""

import asyncio
import logging
import random
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from math import inf
from queue import Empty, SimpleQueue
from typing import Any

from readback.api.data.health import DependencyStatus, Health
from readback.api.data.journal import Journal, Tally
from readback.api.data.keyring import Keyring
from readback.api.data.store import (
    KEYS_AT_ONCE,
    TALLIES_PER_TRANSACTION,
    KeyRow,
    Store,
    StoreError,
)
from readback.api.shared.counters import WorkerCounters

log = logging.getLogger("readback.api")

# Under a flood look-ups come no faster than this: each then gathers many keys, and the
# flood costs a hundred statements a second at the most. A few that follow each other
# without a flood need not wait.
LOOK_UP_SECONDS = 0.01
LOOK_UP_BURST = 50
# A refresh that is not back after this time means that the thread itself is stuck.
STUCK_SECONDS = 5.0
CLEANING_SECONDS = 3600.0
STOP_SECONDS = 5.0
# So many answers about unknown keys are given before the event loop turns to others.
ANSWERS_AT_ONCE = 4


class Clerk:
    """Carries questions and journals to the database, and answers back."""

    def __init__(self, store: Store, health: Health, counters: WorkerCounters) -> None:
        self._store = store
        self._health = health
        self._counters = counters
        # The event loop's side.
        self._asked: list[bytes] = []
        self._found: deque[tuple[list[bytes], Mapping[bytes, KeyRow]]] = deque()
        self._refreshing_since = inf
        self._writing = False
        # From the loop to the thread: what to call there, and with what.
        self._inbox: SimpleQueue[tuple[Callable[[Any], None], Any]] = SimpleQueue()
        # The thread's side.
        self._unknown: list[bytes] = []
        self._known: deque[list[bytes]] = deque()
        self._known_at = 0.0
        self._tallies: list[Tally] = []
        self._next_look_up = 0.0
        # At another time of the hour in each worker, so that they do not meet.
        self._next_cleaning = time.monotonic() + random.uniform(0, CLEANING_SECONDS)
        self._stop_at = inf
        self._thread = threading.Thread(target=self._run, name="clerk", daemon=True)

    def start(
        self, loop: asyncio.AbstractEventLoop, keyring: Keyring, journal: Journal
    ) -> None:
        self._loop = loop
        self._keyring = keyring
        self._journal = journal
        self._thread.start()

    # Called by the event loop.

    def ask(self, digest: bytes) -> None:
        """Have one unknown key looked up."""
        if not self._asked:
            self._loop.call_soon(self._pass_on)
        self._asked.append(digest)

    def _pass_on(self) -> None:
        """Hand over at once what a round of the event loop has asked."""
        asked, self._asked = self._asked, []
        if self._health.reading.trouble:
            # The next refresh will find out whether the database is back.
            self._keyring.lose(asked)
        else:
            self._inbox.put((self._unknown.extend, asked))

    def begin_round(self, known: list[bytes], now: float, wall: float) -> None:
        """Have known keys asked about and the journal written, unless they still are.

        Neither waits for the other: a long journal does not delay a revocation.
        """
        self._journal.close(wall)
        if self._refreshing_since == inf:
            self._refreshing_since = now
            self._inbox.put((self._take_known, (known, now)))
        elif now - self._refreshing_since > STUCK_SECONDS:
            self._health.reading.fails("it has not answered for seconds")
        if not self._writing and (tallies := self._journal.fetch()):
            self._writing = True
            self._inbox.put((self._tallies.extend, tallies))

    def stop(self) -> None:
        """Write what is left, and wait for that; not for ever."""
        self._journal.close(time.time())
        self._inbox.put((self._tallies.extend, self._journal.fetch()))
        self._inbox.put((self._take_end, time.monotonic() + STOP_SECONDS))
        self._thread.join(STOP_SECONDS + 1)

    # The thread.

    def _run(self) -> None:
        while not self._is_over():
            try:
                self._attend()
            except Exception:
                self._survive()
        self._store.close()
        if lost := sum(tally.requests for tally in self._tallies):
            log.error("stopped, and the usage of %d requests is not written", lost)

    def _is_over(self) -> bool:
        if self._stop_at == inf:
            return False
        return not self._tallies or time.monotonic() > self._stop_at

    def _attend(self) -> None:
        """Take in what has come, and do a little of what waits."""
        self._collect()
        if self._unknown and time.monotonic() >= self._next_look_up:
            self._look_up()
        if self._known:
            self._refresh()
        elif self._tallies:
            self._write()
        elif time.monotonic() >= self._next_cleaning:
            self._clean()
        self._counters.add("statements", self._store.take_statements())

    def _collect(self) -> None:
        """Wait until there is something to do, and take in all that has come."""
        with suppress(Empty):
            if not (self._known or self._tallies):
                self._wait()
            while True:
                self._take(*self._inbox.get_nowait())

    def _wait(self) -> None:
        now = time.monotonic()
        if self._unknown:
            # Asleep, not in the queue: the keys of a flood are not to wake us.
            time.sleep(max(0.0, self._next_look_up - now))
        else:
            patience = max(0.0, self._next_cleaning - now)
            self._take(*self._inbox.get(timeout=patience))

    def _take(self, errand: Callable[[Any], None], matter: Any) -> None:
        errand(matter)

    def _take_known(self, refresh: tuple[list[bytes], float]) -> None:
        known, self._known_at = refresh
        starts = range(0, max(1, len(known)), KEYS_AT_ONCE)
        self._known.extend(known[at : at + KEYS_AT_ONCE] for at in starts)

    def _take_end(self, stop_at: float) -> None:
        self._stop_at = stop_at

    def _look_up(self) -> None:
        asked = self._unknown[:KEYS_AT_ONCE]
        del self._unknown[:KEYS_AT_ONCE]
        earliest = time.monotonic() - LOOK_UP_BURST * LOOK_UP_SECONDS
        self._next_look_up = max(self._next_look_up, earliest) + LOOK_UP_SECONDS
        try:
            rows = self._store.keys(asked)
        except StoreError as error:
            self._fail(self._health.reading, error)
            self._call(partial(self._keyring.lose, asked))
        else:
            self._call(partial(self._take_in, asked, rows))

    def _refresh(self) -> None:
        asked = self._known.popleft()
        try:
            rows = self._store.keys(asked)
        except StoreError as error:
            self._fail(self._health.reading, error)
            self._known.clear()
        else:
            self._health.reading.works()
            self._call(partial(self._keyring.learn, asked, rows))
            if not self._known:
                self._call(partial(self._keyring.confirm, self._known_at))
        if not self._known:
            self._call(self._end_refresh)

    def _write(self) -> None:
        batch = self._tallies[:TALLIES_PER_TRANSACTION]
        try:
            waiting = self._store.record(batch)
        except StoreError as error:
            self._fail(self._health.writing, error)
            if not error.passing:
                del self._tallies[: len(batch)]
                self._call(partial(self._journal.drop, batch))
            self._set_aside_all()
        else:
            self._health.writing.works()
            del self._tallies[: len(batch)]
            self._set_aside(waiting)
        if not self._tallies:
            self._call(self._end_writing)

    def _set_aside_all(self) -> None:
        tallies = self._tallies.copy()
        self._tallies.clear()
        self._set_aside(tallies)

    def _set_aside(self, tallies: list[Tally]) -> None:
        """Keep what could not be written for the next round, if there will be one."""
        if tallies and self._stop_at == inf:
            self._call(partial(self._journal.give_back, tallies))
        elif tallies:
            self._tallies += tallies
            time.sleep(0.1)

    def _clean(self) -> None:
        done = True
        try:
            done = self._store.clean(time.time())
        except StoreError as error:
            self._fail(self._health.writing, error)
        self._next_cleaning = time.monotonic() + (CLEANING_SECONDS if done else 0.1)

    def _fail(self, ability: DependencyStatus, error: StoreError) -> None:
        self._counters.add("database_errors")
        ability.fails(str(error))

    def _survive(self) -> None:
        """Go on after a fault of ours, say where it was, and nothing of the values."""
        kind, _, trace = sys.exc_info()
        name = kind.__name__ if kind else "unknown"
        log.error("the clerk: %s\n%s", name, "".join(traceback.format_tb(trace)))
        self._health.reading.fails(name)
        self._store.close()
        self._known.clear()
        self._call(self._end_refresh)
        self._set_aside_all()
        self._call(self._end_writing)
        time.sleep(0.1)

    def _call(self, work: Callable[[], None]) -> None:
        # A closed loop raises: the worker is stopping, and nobody waits any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(work)

    # Back on the event loop.

    def _take_in(self, asked: list[bytes], rows: Mapping[bytes, KeyRow]) -> None:
        if not self._found:
            self._loop.call_soon(self._teach)
        self._found.append((asked, rows))

    def _teach(self) -> None:
        """Give a few answers, and let the event loop turn to others."""
        asked, rows = self._found.popleft()
        self._keyring.learn(asked[:ANSWERS_AT_ONCE], rows)
        if rest := asked[ANSWERS_AT_ONCE:]:
            self._found.appendleft((rest, rows))
        if self._found:
            self._loop.call_soon(self._teach)

    def _end_refresh(self) -> None:
        self._refreshing_since = inf

    def _end_writing(self) -> None:
        self._writing = False
