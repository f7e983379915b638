"""The one thread of a worker that owns the database.

Requests never wait for it but for a key that is not known yet. Each round it takes
everything that waits and asks in as few statements as it can: unknown keys in one
batch, all known keys in one batch, usage and journal in one transaction. So the load
on the database follows the number of workers and of active keys, not of requests.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from readback.api.counters import Row
from readback.api.journal import Journal, Tally
from readback.api.keyring import Keyring
from readback.api.store import KEYS_PER_STATEMENT, KeyRow, Store, StoreError

log = logging.getLogger("readback.api")

STOP_SECONDS = 5.0


@dataclass
class Round:
    """What one round carries to the thread, and back."""

    known: list[bytes] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    last: bool = False


class Clerk:
    """Carries questions and journals to the database, and answers back."""

    def __init__(self, store: Store, counters: Row) -> None:
        self._store = store
        self._counters = counters
        self._inbox: SimpleQueue[bytes | Round] = SimpleQueue()
        self._busy = False
        self._up = True
        self._thread = threading.Thread(target=self._run, name="clerk", daemon=True)

    def start(
        self, loop: asyncio.AbstractEventLoop, keyring: Keyring, journal: Journal
    ) -> None:
        self._loop = loop
        self._keyring = keyring
        self._journal = journal
        self._thread.start()

    def ask(self, digest: bytes) -> None:
        """Have one unknown key looked up. Called by the event loop."""
        self._inbox.put(digest)

    def begin_round(self, known: list[bytes]) -> None:
        """Have all known keys checked and the journal written, unless it still is."""
        if not self._busy:
            self._busy = True
            self._inbox.put(Round(known, self._journal.fetch(time.time())))

    def stop(self) -> None:
        """Write what is left, and wait for that; not for ever."""
        self._inbox.put(Round(tallies=self._journal.fetch(time.time()), last=True))
        self._thread.join(STOP_SECONDS)

    # The thread.

    def _run(self) -> None:
        last = False
        while not last:
            unknown, round_ = self._collect()
            last = round_ is not None and round_.last
            if unknown:
                self._look_up(unknown)
            if round_ is not None:
                self._make_round(round_)
            self._counters.add("statements", self._store.take_statements())
        self._store.close()

    def _collect(self) -> tuple[list[bytes], Round | None]:
        """Wait for something to do, then take all of one batch that is there."""
        unknown: list[bytes] = []
        item: bytes | Round = self._inbox.get()
        while isinstance(item, bytes):
            unknown.append(item)
            if len(unknown) == KEYS_PER_STATEMENT:
                return unknown, None
            try:
                item = self._inbox.get_nowait()
            except Empty:
                return unknown, None
        return unknown, item

    def _look_up(self, unknown: list[bytes]) -> None:
        try:
            rows = self._store.keys(unknown)
        except StoreError as error:
            self._note(error)
            self._call(lambda: self._keyring.lose(unknown))
        else:
            self._note(None)
            self._call(lambda: self._keyring.learn(unknown, rows))

    def _make_round(self, round_: Round) -> None:
        try:
            self._store.ping()
            rows = self._store.keys(round_.known)
        except StoreError as error:
            self._note(error)
            self._call(lambda: self._finish(round_.tallies))
            return
        self._call(lambda: self._confirm(round_.known, rows))
        try:
            if round_.tallies:
                self._store.record(round_.tallies)
        except StoreError as error:
            self._note(error)
            self._call(lambda: self._finish(round_.tallies))
        else:
            self._note(None)
            self._call(lambda: self._finish([]))

    def _note(self, error: StoreError | None) -> None:
        """Say once when the database goes away, and once when it is back."""
        if error is not None:
            self._counters.add("database_errors")
        if error is not None and self._up:
            log.error("the database cannot be used: %s", error)
        elif error is None and not self._up:
            log.warning("the database is back")
        self._up = error is None
        self._counters.set("database_up", int(self._up))

    def _call(self, work: Callable[[], None]) -> None:
        # A closed loop raises: the worker is stopping, and nobody waits any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(work)

    # Back on the event loop.

    def _confirm(self, known: list[bytes], rows: list[KeyRow]) -> None:
        self._keyring.confirm()
        self._keyring.learn(known, rows)

    def _finish(self, unwritten: list[Tally]) -> None:
        self._busy = False
        self._journal.give_back(unwritten)
