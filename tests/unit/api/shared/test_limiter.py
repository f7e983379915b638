"""The limiter in one process: rates, `created`, and the table of keys."""

import math
import time
from itertools import pairwise
from random import Random
from types import SimpleNamespace

import pytest
from tests.support.memory import reachable_from

from readback.api.shared import limiter as limiter_module
from readback.api.shared.limiter import Limiter
from readback.contract import EARLIEST_CREATED

ALICE, BOB = b"alice", b"bob"
START = 1_800_000_000
NOW = 1e6
HOUR = 3600


def test_a_burst_is_allowed_and_then_the_rate():
    limiter = Limiter(rate=10, burst=5)
    slot = limiter.slot(ALICE)
    now = time.monotonic() + 100
    assert [limiter.admit(slot, now) for _ in range(7)] == [True] * 5 + [False] * 2
    assert limiter.admit(limiter.slot(BOB), now)
    # A tenth of a second later one more is allowed.
    assert [limiter.admit(slot, now + 0.1) for _ in range(2)] == [True, False]
    # After a long time the whole burst is available, but not more.
    later = [limiter.admit(slot, now + 900) for _ in range(6)]
    assert later == [True] * 5 + [False]


@pytest.mark.parametrize(("rate", "burst"), [(1, 1), (2, 10), (20, 1000), (7, 3)])
def test_a_retry_after_the_announced_time_is_accepted(rate, burst):
    limiter = Limiter(rate, burst)
    slot, now = limiter.slot(ALICE), time.monotonic()
    while limiter.admit(slot, now):
        pass
    wait = limiter.retry_after(slot)
    assert wait == max(1, math.ceil(1 / rate))
    assert limiter.admit(slot, now + wait)


def test_a_rate_of_zero_means_none():
    limiter = Limiter(rate=0, burst=1)
    slot, now = limiter.slot(ALICE), time.monotonic()
    # Another worker may have read the clock earlier.
    assert all(limiter.admit(slot, now - n / 1000) for n in range(5000))


def test_many_keys_use_no_more_memory_than_the_slots():
    limiter = Limiter(rate=1, burst=1, slots=1024)
    slots = {limiter.slot(b"%d" % number) for number in range(50_000)}
    assert len(slots) <= 1024
    kept = [kept for kept in reachable_from(vars(limiter)) if isinstance(kept, bytes)]
    assert len(kept) < 1024  # not one object per key


@pytest.mark.parametrize("rate", [0, 1])
def test_in_a_full_table_the_key_that_was_inactive_longest_is_replaced(rate):
    limiter = Limiter(rate, burst=10, slots=8)
    now = time.monotonic()
    slots = [limiter.slot(b"%d" % number) for number in range(8)]
    assert len(set(slots)) == 8  # no key was replaced while there were free slots
    limiter.number(slots[1], now + 50)
    for number in (0, 1, 2, 4, 5, 6, 7, 3, 0):
        limiter.admit(slots[number], now + 100 + 10 * number)
    limiter.admit(slots[0], now + 200)
    assert limiter.slot(b"newcomer") == slots[1]
    assert limiter.slot(b"7") == slots[7]
    # The newcomer inherits neither the rate nor the `created` of the replaced key.
    assert limiter.last(slots[1]) == 0
    now = time.monotonic()
    assert [limiter.admit(slots[1], now) for _ in range(10)] == [True] * 10


@pytest.fixture
def clock(monkeypatch):
    """A wall clock that the test sets."""
    clock = SimpleNamespace(wall=START)
    monkeypatch.setattr(limiter_module, "time", lambda: clock.wall)
    return clock


def numbers(limiter: Limiter, times: int, key: bytes = ALICE) -> list[int]:
    slot = limiter.slot(key)
    return [limiter.number(slot, NOW) for _ in range(times)]


def test_created_runs_ahead_of_the_clock_by_an_hour_until_it_catches_up(clock):
    clock.wall = 0.0  # not set yet
    limiter = Limiter(0, 1)
    assert numbers(limiter, 1) == [EARLIEST_CREATED]
    clock.wall = START
    assert numbers(limiter, 1500) == list(range(START, START + 1500))
    clock.wall += 1000
    assert numbers(limiter, 2) == [START + 1500, START + 1501]
    clock.wall += 1000.9
    now = START + 2000
    ahead = list(range(now, now + HOUR + 1))
    assert numbers(limiter, HOUR + 3) == [*ahead, now, now + 1]


def test_only_a_new_slot_continues_after_the_stored_created(clock):
    limiter = Limiter(0, 1)
    limiter.slot(ALICE, START + 20)
    limiter.slot(ALICE, START + 900)  # by a worker that learns about the key later
    assert numbers(limiter, 1) == [START + 21]
    # The clock was years ahead when this was stored.
    limiter.slot(BOB, START + 100_000_000)
    assert numbers(limiter, 2, BOB) == [START, START + 1]


def test_however_the_clock_is_set_each_created_differs_from_the_one_before(
    clock, monkeypatch
):
    # A minute instead of an hour, so that many examples take little time.
    lead = 60
    monkeypatch.setattr(limiter_module, "CREATED_LEAD_SECONDS", lead)
    limiter, chance, last = Limiter(0, 1), Random(47), 0
    for _ in range(1000):
        most = chance.choice((5, lead + 5, 10 * lead))
        clock.wall += chance.randint(-most, most)
        given = numbers(limiter, chance.choice((1, 5, lead - 1, lead, lead + 1)))
        assert all(a != b for a, b in pairwise([last, *given]))
        assert clock.wall <= min(given) and max(given) <= clock.wall + lead
        last = given[-1]
