"""The event loop's side of the database: sends tasks to the thread, applies results.

Requests never wait for the database, except for a key that is not known yet. All known
keys are refreshed twice a second, and usage and journal are written in batches, so the
load on the database follows the number of workers and of active keys, not the number
of requests. The statements run in `database_thread.py`.
"""

import asyncio
import time
from collections import deque
from math import inf

from readback.api.data.database_thread import DatabaseThread
from readback.api.data.health import Health
from readback.api.data.journal import Journal, Tally
from readback.api.data.keyring import Keyring
from readback.api.data.store import KeyRows, Store
from readback.api.data.unmatched import UnmatchedRequests
from readback.shared_counters import WorkerCounters

# A refresh that takes longer means that the thread itself is stuck.
STUCK_SECONDS = 5.0
STOP_SECONDS = 5.0
# Answers to look-ups that are given before the event loop turns to other work.
ANSWERS_PER_ROUND = 4


class Clerk:
    """Keeps keyring and journal in step with the database."""

    def __init__(self, store: Store, health: Health, counters: WorkerCounters) -> None:
        self._health = health
        self._thread = DatabaseThread(store, health, counters)
        self._asked: list[bytes] = []
        self._looked_up: deque[tuple[list[bytes], KeyRows]] = deque()
        self._refreshing_since = inf
        self._rows_sent = 0
        self._writing = False

    def start(
        self,
        loop: asyncio.AbstractEventLoop,
        keyring: Keyring,
        journal: Journal,
        unmatched: UnmatchedRequests,
    ) -> None:
        self._loop = loop
        self._keyring = keyring
        self._journal = journal
        self._unmatched = unmatched
        self._thread.start(loop, self)

    def look_up(self, digest: bytes) -> None:
        """Look up one unknown key; the keyring will learn of it."""
        if not self._asked:
            self._loop.call_soon(self._send_look_up)
        self._asked.append(digest)

    def _send_look_up(self) -> None:
        """Send all keys that one round of the event loop has asked for together."""
        asked, self._asked = self._asked, []
        if self._health.reading.error:
            # The next refresh finds out whether the database is back.
            self._keyring.fail(asked)
        else:
            self._thread.look_up(asked)

    def begin_round(self, known: list[bytes], now: float, wall: float) -> None:
        """Refresh the known keys and write the journal, unless that is under way.

        Neither waits for the other: a long journal does not delay a revocation.
        """
        self._journal.close(now, wall, self._keyring.is_beyond_reserve)
        if self._refreshing_since == inf:
            self._refreshing_since = now
            self._thread.refresh(known, now)
            self._send_unmatched(wall)
        elif now - self._refreshing_since > STUCK_SECONDS:
            self._health.reading.failed(f"no answer for {STUCK_SECONDS:g} seconds")
        if self._writing:
            return
        if tallies := self._journal.fetch(now, self._keyring.reserve_created):
            self._writing = True
            self._rows_sent = len(tallies)
            self._thread.write(tallies)

    @property
    def pending_rows(self) -> int:
        """How many rows are due and not written, with those that the thread has."""
        return len(self._journal) + self._rows_sent

    async def stop(self) -> None:
        """Write what is left, and wait a bounded time for that."""
        self._thread.keep_unwritten()
        await asyncio.sleep(0)  # apply what the thread has given back until now
        now, wall = time.monotonic(), time.time()
        self._journal.hurry()
        self._journal.close(now, wall)
        self._thread.write(self._journal.fetch(now, self._keyring.reserve_created))
        self._send_unmatched(wall)
        self._thread.stop(time.monotonic() + STOP_SECONDS)
        self._thread.join(STOP_SECONDS + 1)

    def _send_unmatched(self, wall: float) -> None:
        if counts := self._unmatched.fetch():
            self._thread.write_unmatched(counts, wall)

    # The results of the database thread.

    def looked_up(self, digests: list[bytes], rows: KeyRows) -> None:
        """Learn what the database says of keys that were unknown."""
        if not self._looked_up:
            self._loop.call_soon(self._give_answers)
        self._looked_up.append((digests, rows))

    def look_up_failed(self, digests: list[bytes]) -> None:
        self._keyring.fail(digests)

    def refreshed(self, digests: list[bytes], rows: KeyRows) -> None:
        self._keyring.learn(digests, rows)

    def refresh_ended(self, confirmed_at: float | None) -> None:
        """Note when the refresh of all known keys began; None if it has failed."""
        self._refreshing_since = inf
        if confirmed_at is not None:
            self._keyring.confirm(confirmed_at)

    def not_written(self, tallies: list[Tally]) -> None:
        """Keep for the next round what could not be written now."""
        self._rows_sent -= len(tallies)
        self._journal.give_back(tallies)

    def rejected(self, tallies: list[Tally]) -> None:
        """Drop what can never be written."""
        self._rows_sent -= len(tallies)
        self._journal.drop(tallies)

    def write_ended(self) -> None:
        self._rows_sent = 0
        self._writing = False

    def _give_answers(self) -> None:
        """Answer a few look-ups, and let the event loop turn to other work."""
        digests, rows = self._looked_up.popleft()
        if rest := digests[ANSWERS_PER_ROUND:]:
            self._looked_up.appendleft((rest, rows))
        if self._looked_up:
            self._loop.call_soon(self._give_answers)
        self._keyring.learn(digests[:ANSWERS_PER_ROUND], rows)
