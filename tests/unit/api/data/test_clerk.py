"""The clerk as a thread: it survives what nobody expected, and leaves nothing behind.

On a real, if almost empty, SQLite file: what the statements do is tested elsewhere.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.support.waiting import wait_in_loop_until

from readback.api.data.clerk import Clerk
from readback.api.data.health import Health
from readback.api.data.journal import Event, Journal, Tally
from readback.api.data.keyring import UNAVAILABLE, Keyring
from readback.api.data.store import KeyRow, Store
from readback.api.shared.counters import Counters
from readback.api.shared.limiter import Limiter
from readback.config import Config

VALUE = "something that must not be in the log"


class Trap(Store):
    """A store with a fault of ours in it, which can be mended."""

    broken = False
    written = 0

    def keys(self, digests: Sequence[bytes]) -> dict[bytes, KeyRow]:
        if self.broken:
            raise ZeroDivisionError(VALUE)
        return {}

    def record(self, tallies: Sequence[Tally]) -> list[Tally]:
        if self.broken:
            raise ZeroDivisionError
        self.written += sum(tally.requests for tally in tallies)
        return []


class Office:
    """A clerk with all that it works with."""

    def __init__(self, path: Path) -> None:
        sqlite3.connect(path).close()
        row = Counters(1).row(0)
        self.store = Trap(Config(database_url=f"sqlite:///{path}"))
        self.health = Health(row)
        self.journal = Journal(row)
        self.clerk = Clerk(self.store, self.health, row)
        self.keyring = Keyring(Limiter(1, 1), self.clerk.look_up, 900)

    def begin_round(self) -> None:
        self.clerk.begin_round([], asyncio.get_running_loop().time(), 1.0)

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Begin one round after the other until the condition is true."""

        def true_after_another_round() -> object:
            self.begin_round()
            return condition()

        await wait_in_loop_until(true_after_another_round, what)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "database")


def run(office: Office, work: Callable[[], object]) -> None:
    async def main() -> None:
        office.clerk.start(asyncio.get_running_loop(), office.keyring, office.journal)
        await work()
        office.clerk.stop()

    asyncio.run(main())


def note(office: Office) -> None:
    office.journal.note(Event(1, "chat", 200, "", "", "", ""), 0, 0)


def test_a_fault_of_ours_is_told_survived_and_loses_nothing(office, caplog):
    told = []

    async def work() -> None:
        office.store.broken = True
        note(office)
        await office.until(office.health.errors, "the error is reported")
        office.keyring.wait(b"d" * 32, told.append)
        await office.until(lambda: told, "the waiting request is answered")
        assert office.store.written == 0

        office.store.broken = False
        await office.until(lambda: not office.health.errors(), "the store works")
        await office.until(lambda: office.store.written, "the usage is written")

    with caplog.at_level(logging.WARNING):
        run(office, work)

    assert told == [UNAVAILABLE]
    assert office.store.written == 1
    assert "ZeroDivisionError" in caplog.text and VALUE not in caplog.text
    assert "recovered" in caplog.text


def test_what_is_noted_last_is_written_before_the_end(office):
    async def work() -> None:
        office.begin_round()
        await asyncio.sleep(0)
        for _ in range(3):
            note(office)

    run(office, work)
    assert office.store.written == 3


def test_what_cannot_be_written_at_the_end_is_told(office, caplog, monkeypatch):
    monkeypatch.setattr("readback.api.data.clerk.STOP_SECONDS", 0.3)

    async def work() -> None:
        office.store.broken = True
        note(office)

    run(office, work)
    assert "before the usage of 1 requests was written" in caplog.text
