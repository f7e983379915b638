"""The database coroutine survives unexpected errors without losing usage.

The SQLite file is real but has no tables; the statements are tested elsewhere.
"""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from tests.support.waiting import wait_in_loop_until

from readback.api.data.database import Database
from readback.api.data.dialects import StoreError
from readback.api.data.health import BUSY_SECONDS, Health
from readback.api.data.journal import Event, Journal, Tally
from readback.api.data.keyring import UNAVAILABLE, Keyring
from readback.api.data.store import KeyRows, Store
from readback.api.data.unmatched import UnmatchedRequest, UnmatchedRequests
from readback.api.shared.counters import Counters
from readback.api.shared.limiter import Limiter
from readback.config import Config

VALUE = "something that must not be in the log"


class FailingStore(Store):
    """A store that raises `error` or, for unmatched requests, `unmatched_error`."""

    error: Exception | None = None
    unmatched_error: Exception | None = None
    failures = written = deletions = 0
    # The number of unmatched requests in each attempt to write them.
    unmatched: Sequence[int] = ()

    def keys(self, digests: Sequence[bytes]) -> KeyRows:
        if self.error:
            self.failures += 1
            raise self.error
        return {}

    def record(self, tallies: Sequence[Tally]) -> list[Tally]:
        if self.error:
            raise self.error
        self.written += sum(tally.requests for tally in tallies)
        return []

    def write_unmatched(
        self, counts: Mapping[UnmatchedRequest, int], wall: float
    ) -> None:
        self.unmatched = [*self.unmatched, sum(counts.values())]
        if self.unmatched_error:
            raise self.unmatched_error

    def delete_unmatched(self, wall: float) -> None:
        self.deletions += 1
        if self.unmatched_error and self.unmatched:
            raise self.unmatched_error  # after a failed write, deletions fail too


NO_ANSWER = StoreError("no answer", permanent=False)
LOCKED = StoreError("locked", permanent=False)


class DataLayer:
    """The database coroutine with everything that it uses."""

    def __init__(self, path: Path) -> None:
        sqlite3.connect(path).close()
        self.row = row = Counters(1).row(0)
        self.store = FailingStore(Config(database_url=f"sqlite:///{path}"))
        self.health = Health(row)
        self.journal = Journal(row)
        self.unmatched = UnmatchedRequests()
        self.database = Database(self.store, self.health, row)
        self.keyring = Keyring(Limiter(1, 1), self.database.look_up, 900)

    def tick(self) -> None:
        self.database.tick([], asyncio.get_running_loop().time(), 1.0)

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Tick until the condition is true."""

        def true_after_another_tick() -> object:
            self.tick()
            return condition()

        await wait_in_loop_until(true_after_another_tick, what)


@pytest.fixture
def data(tmp_path: Path) -> DataLayer:
    return DataLayer(tmp_path / "database")


def run(data: DataLayer, work: Callable[[], object]) -> None:
    async def main() -> None:
        data.database.start(data.keyring, data.journal, data.unmatched)
        await work()
        await data.database.stop()

    asyncio.run(main())


DIGEST = b"d" * 32


def note(data: DataLayer, *digests: bytes) -> None:
    for digest in digests or [DIGEST]:
        data.journal.open(Event(digest, "chat", 200, "", "", "")).count("", 0, 0)


MANY = [number.to_bytes(32, "big") for number in range(1000)]


def test_a_stop_while_many_tallies_are_closed_loses_none(data):
    async def work() -> None:
        note(data, *MANY)
        data.tick()
        await asyncio.sleep(0)
        assert 0 < data.database.pending_rows < 1000

    run(data, work)
    assert data.store.written == 1000


def test_a_stop_while_many_tallies_are_forgotten_causes_no_error(data):
    async def work() -> None:
        note(data, *MANY)
        data.journal.hurry()  # so that the next pass forgets unused tallies
        data.journal.close(0.0, 1.0)
        data.tick()
        await asyncio.sleep(0)
        assert 0 < data.journal._open < 1000

    run(data, work)
    assert (data.store.written, data.row.get("round_errors")) == (1000, 0)


def test_an_internal_error_is_logged_and_loses_nothing(data, caplog):
    answers = []

    async def work() -> None:
        data.store.error = ZeroDivisionError(VALUE)
        note(data)
        await data.until(data.health.errors, "the error is reported")
        data.keyring.wait(DIGEST, answers.append)
        await data.until(lambda: answers, "the waiting request is answered")
        assert (data.store.written, data.database.pending_rows) == (0, 1)

        data.store.error = None
        await data.until(lambda: not data.health.errors(), "the store works")
        await data.until(lambda: data.store.written, "the usage is written")
        await data.until(lambda: not data.database.pending_rows, "nothing is pending")

    with caplog.at_level(logging.WARNING):
        run(data, work)

    assert answers == [UNAVAILABLE]
    assert data.store.written == 1
    assert "in the periodic work of a worker: ZeroDivisionError" in caplog.text
    assert VALUE not in caplog.text and data.row.get("round_errors")
    assert "recovered" in caplog.text


def test_a_write_that_fails_during_a_stop_is_tried_again(data, monkeypatch):
    begun, may_end = threading.Event(), threading.Event()

    def fail_late(tallies: Sequence[Tally]) -> list[Tally]:
        begun.set()
        may_end.wait()
        monkeypatch.undo()
        raise LOCKED

    async def work() -> None:
        monkeypatch.setattr(data.store, "record", fail_late)
        note(data, *MANY[:7])
        data.tick()
        await asyncio.to_thread(begun.wait)
        note(data, *MANY[:3])
        # The write ends only after the stop has begun.
        asyncio.get_running_loop().call_soon(may_end.set)

    run(data, work)
    assert data.store.written == 10


def note_unmatched(data: DataLayer, requests: int = 1) -> None:
    for _ in range(requests):
        data.unmatched.count("192.0.2.1", "chat", "invalid_key", "No.", "curl")


@pytest.mark.parametrize("error", [LOCKED, ZeroDivisionError(VALUE)])
def test_unmatched_requests_that_cannot_be_written_are_dropped(data, error):
    answers = []
    reason = "locked" if isinstance(error, StoreError) else "ZeroDivisionError"

    async def work() -> None:
        data.store.unmatched_error = error
        note_unmatched(data, 5)
        note(data)
        await data.until(data.health.errors, "operators see it")
        assert data.health.errors() == [f"cannot write unmatched requests: {reason}"]
        await data.until(lambda: data.store.written == 1, "the journal is written")
        data.keyring.wait(DIGEST, answers.append)
        await data.until(lambda: answers == [None], "a key is looked up")

        data.store.unmatched_error = None
        await data.until(lambda: not data.health.errors(), "the error has ended")
        assert data.store.unmatched == [5]
        note_unmatched(data, 2)
        await data.until(
            lambda: data.store.unmatched == [5, 2], "later ones are written"
        )

    run(data, work)


def test_during_an_outage_unmatched_requests_are_not_written(data):
    async def work() -> None:
        data.store.error = NO_ANSWER
        await data.until(data.health.errors, "the error is reported")
        note_unmatched(data)
        before = data.store.failures
        await data.until(lambda: data.store.failures > before + 2, "time has passed")
        data.store.error = None
        await data.until(lambda: not data.health.errors(), "the database is back")
        assert not data.store.unmatched

    run(data, work)


def test_old_unmatched_requests_are_deleted_regularly(data, monkeypatch):
    monkeypatch.setattr("readback.api.data.database.EXPIRY_SECONDS", 0.01)
    data.database._next_expiry = 0.0

    async def work() -> None:
        await data.until(lambda: data.store.deletions > 2, "rows are deleted")

    run(data, work)


@pytest.mark.parametrize("kind", ["permanent", "unexpected"])
def test_one_outcome_that_cannot_be_written_delays_no_other(data, kind, caplog):
    permanent = StoreError("out of range", permanent=True)
    error = permanent if kind == "permanent" else ZeroDivisionError(VALUE)
    attempts, write = [], data.store.record

    def record(tallies: Sequence[Tally]) -> list[Tally]:
        attempts.append(tallies)
        if any(tally.event.digest == MANY[321] for tally in tallies):
            raise error
        return write(tallies)

    async def work() -> None:
        nonlocal error
        data.store.record = record
        note(data, *MANY[:500])
        data.tick()
        await wait_in_loop_until(
            lambda: data.store.written == 499, "all others are written"
        )
        # At most one attempt for the whole batch and one for each outcome.
        assert len(attempts) <= 1 + 500
        left = 0 if kind == "permanent" else 1
        await data.until(lambda: data.database.pending_rows == left, "one is set aside")
        error = permanent

    run(data, work)
    assert data.row.get("journal_dropped") == 1
    assert data.store.written == 499
    assert VALUE not in caplog.text


def test_an_unexpected_error_is_logged_once_and_counted_each_time(data, caplog):
    for _ in range(3):
        try:
            {}[VALUE]
        except KeyError as error:
            data.health.note_unexpected(error)
    assert data.row.get("round_errors") == 3
    assert caplog.text.count("KeyError") == 1 and VALUE not in caplog.text


def test_keys_are_not_confirmed_by_rows_that_cannot_be_applied(data, monkeypatch):
    def fail(asked: object, rows: object) -> None:
        raise ZeroDivisionError(VALUE)

    async def work() -> None:
        with monkeypatch.context() as broken:
            broken.setattr(data.keyring, "learn", fail)
            await data.until(data.health.errors, "the error is reported")
            assert data.keyring.confirmed_at < 0
        await data.until(lambda: not data.health.errors(), "it works again")
        assert data.keyring.confirmed_at > 0

    run(data, work)


def test_a_database_that_stays_busy_is_an_error(data):
    now = time.monotonic()
    status = data.health.writing
    status.failed("locked", busy=True)
    assert not status.error
    status._busy_since = now - BUSY_SECONDS
    status.failed("locked", busy=True)
    assert status.error
    status.succeeded()
    status.failed("locked", busy=True)
    assert not status.error


def test_a_database_that_hangs_blocks_neither_the_event_loop_nor_a_stop(
    data, caplog, monkeypatch
):
    monkeypatch.setattr("readback.api.data.database.STOP_SECONDS", 0.2)
    is_hanging, may_go_on = threading.Event(), threading.Event()
    answers = []

    def hang(digests: Sequence[bytes]) -> KeyRows:
        is_hanging.set()
        may_go_on.wait()
        return {}

    async def work() -> None:
        data.store.keys = hang
        note(data)
        data.tick()
        await wait_in_loop_until(is_hanging.is_set, "it hangs")
        data.health.reading.failed("no answer for 5 seconds")
        data.keyring.wait(DIGEST, answers.append)
        await wait_in_loop_until(lambda: answers, "a request is answered")

    try:
        run(data, work)
    finally:
        may_go_on.set()
    assert answers == [UNAVAILABLE]
    assert "before the usage of 1 requests was written" in caplog.text


def test_free_disk_space_is_measured_in_the_database_thread(data):
    """A disk that hangs must not stop the event loop when metrics are scraped."""

    def measure() -> int:
        assert threading.current_thread() is not threading.main_thread()
        return 7

    async def work() -> None:
        data.store.free_disk_bytes = measure
        data.tick()
        await wait_in_loop_until(
            lambda: data.row.get("database_disk_free") == 7, "it is measured"
        )

    run(data, work)
