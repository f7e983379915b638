"""The limiter's `created`: it differs on every answer, and is never far ahead."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.created import assert_created_by_the_rule

from readback.api.shared.created import Limiter
from readback.contract import EARLIEST_CREATED

ALICE, BOB = b"alice", b"bob"
START = 1_800_000_000
HOUR = 3600
DAY = 24 * HOUR
RATE = 100_000_000


class Key:
    """The answers to one key in one worker, at a time that the test sets."""

    def __init__(self, limiter: Limiter | None = None, name: bytes = ALICE) -> None:
        self.limiter = limiter or Limiter(RATE, RATE, slots=64)
        self.slot = self.limiter.slot(name)
        self.set_clock(START)
        self.given: list[int] = []

    def set_clock(self, wall: float) -> None:
        """Set both clocks; the monotonic one is only moved forward by `wait`."""
        self.wall = wall
        self.limiter.tick(0.0, wall)

    def wait(self, seconds: float) -> None:
        self.set_clock(self.wall + seconds)

    def answer(self, times: int = 1) -> list[int]:
        limiter, slot, new = self.limiter, self.slot, []
        for _ in range(times):
            new.append(limiter.admit(slot, 0.0))
        assert max(new) <= self.wall + HOUR
        self.given += new
        return new


def test_a_clock_that_has_not_been_set_does_not_shorten_created():
    key = Key()
    key.set_clock(0)
    assert key.limiter.admit(key.slot, 0.0) == EARLIEST_CREATED


def test_a_burst_runs_ahead_of_the_clock_and_the_clock_catches_up():
    key = Key()
    assert key.answer(1500) == list(range(START, START + 1500))
    key.wait(1000)
    assert key.answer(2) == [START + 1500, START + 1501]
    key.wait(1000)
    assert key.answer() == [START + 2000]


def test_after_an_hour_of_lead_it_starts_again_from_the_present():
    key = Key()
    key.answer(HOUR + 1)
    assert key.given[-1] == START + HOUR
    key.wait(2)
    assert key.answer(4) == [START + HOUR + 1, START + HOUR + 2, START + 2, START + 3]
    key.answer(20_000)
    assert_created_by_the_rule(key.given)


STEPS = st.tuples(
    st.one_of(
        st.integers(0, 5),
        st.integers(0, 4000),
        st.integers(2550, 2650),
        st.integers(3550, 3650),
    ),
    st.one_of(st.integers(1, 5), st.integers(1, 4000), st.integers(3550, 3650)),
)


@settings(max_examples=75)
@given(steps=st.lists(STEPS, max_size=12))
def test_no_pattern_of_bursts_and_pauses_breaks_the_rule(steps):
    key = Key()
    for pause, answers in steps:
        key.wait(pause)
        key.answer(answers)
    assert_created_by_the_rule(key.given)


WORKER_STEPS = st.tuples(
    st.sampled_from([0, 1, 2, 2, 2]),
    st.sampled_from(["", "", "", "", "replaced"]),
    st.one_of(st.integers(0, 3), st.integers(0, 4000)),
    st.one_of(st.integers(1, 5), st.integers(1, 400), st.integers(1, 4000)),
)


@settings(max_examples=75)
@given(
    steps=st.lists(WORKER_STEPS, max_size=15),
    back=st.one_of(st.integers(0, 100), st.integers(0, 5000), st.integers(0, DAY)),
    at=st.integers(0, 15),
)
def test_no_pattern_of_workers_and_clocks_breaks_the_rule(steps, back, at):
    """Also if workers are replaced, and if the clock is set back once."""
    first = Limiter(RATE, RATE, slots=64, workers=3)
    workers, given, wall = [first], [], START
    for row in (1, 2):
        workers.append(copy.copy(first))
        workers[row].join(row)
    for number, (row, event, pause, answers) in enumerate(steps):
        wall += pause - back if number == at else pause
        key = Key(workers[row])
        if event:
            key.limiter.join(row)
        for each in workers:
            each.tick(0.0, wall)
        key.wall = wall
        given += key.answer(answers)
    assert_created_by_the_rule(given)


def test_a_slow_key_gets_the_time_of_the_clock_on_every_worker():
    limiter = Limiter(RATE, RATE, slots=64, workers=2)
    for second in (*range(100), 101.5, 4000, DAY, DAY + 1):
        limiter.join(int(second) % 2)
        key = Key(limiter)
        key.set_clock(START + second)
        assert key.answer() == [START + int(second)]


def test_two_workers_lead_the_clock_by_little_more_than_their_answers():
    limiter = Limiter(RATE, RATE, slots=64, workers=2)
    other = copy.copy(limiter)
    other.join(1)
    keys = [Key(limiter), Key(other)]
    for number in range(1000):
        keys[number % 3 == 0].answer()
    assert max(map(max, (key.given for key in keys))) <= START + 1000 + 2 * 16


def test_the_newest_value_is_adopted_even_if_it_is_lower():
    here, there = Key(), Key()
    here.answer(HOUR)
    there.limiter.adopt(there.slot, here.limiter.last(here.slot), 0.0)
    there.answer(100)
    assert there.given[-1] < here.given[-1]  # it has started again

    last = there.limiter.last(there.slot)
    here.limiter.adopt(here.slot, last, 0.0)
    first = (last & 0xFFFF_FFFF) + 1
    assert here.answer() == [first] and first > there.given[-1]
    # What is older does not lead back.
    here.limiter.adopt(here.slot, START, 0.0)
    assert here.answer() == [first + 1]


def test_a_key_that_lost_its_slot_continues_after_the_value_that_was_kept():
    alice = Key(Limiter(RATE, RATE, slots=1))
    alice.answer(40)
    kept = alice.limiter.last(alice.slot)

    Key(alice.limiter, BOB).answer(2)
    alice = Key(alice.limiter)
    alice.limiter.adopt(alice.slot, kept, 0.0)

    assert START + 40 <= kept + 1 <= START + 40 + 16
    assert alice.answer() == [kept + 1]


def write(key: Key, requests: int, now: float = 0.0) -> int:
    """Return what is written to the database with this many requests."""
    return key.limiter.reserve(key.slot, requests, now)


def test_what_is_written_covers_twice_as_many_answers():
    key = Key()
    key.answer(5)
    written = write(key, 5)
    assert not key.limiter.is_beyond_reserve(key.slot)
    key.answer(10)
    assert key.given[-1] == written
    assert not key.limiter.is_beyond_reserve(key.slot)
    key.answer()
    assert key.limiter.is_beyond_reserve(key.slot)


def test_a_host_that_takes_over_continues_after_what_was_given_out_since():
    killed, next_one = Key(), Key()
    killed.answer(20)
    written = write(killed, 20)
    killed.answer(30)
    next_one.limiter.adopt(next_one.slot, written, 0.0)
    assert next_one.answer()[0] > killed.given[-1]


def test_a_host_does_not_continue_after_what_it_has_reserved_itself():
    key = Key()
    key.answer(5)
    key.limiter.adopt(key.slot, write(key, 5), 0.0)
    assert key.answer() == [START + 5]


def test_every_worker_continues_after_what_another_host_has_given_out():
    """Also one that has the turn, and reads the number after another has written it."""
    limiter = Limiter(RATE, RATE, slots=64, workers=2)
    key = Key(limiter)
    key.answer(5)
    write(key, 5)
    limiter.join(1)
    limiter.adopt(key.slot, START + 1000, 0.0)
    write(key, 1)
    limiter.join(0)
    assert key.answer() == [START + 1001]


def test_what_is_reserved_is_bounded_and_never_more_than_an_hour_ahead():
    key = Key()
    key.answer(1000)
    assert write(key, 1000) == key.limiter.last(key.slot) + 256
    key.answer(HOUR - 1000 - 20)
    assert write(key, 20) == START + HOUR
    slow = Key()
    # It has only listed models.
    assert write(slow, 5) == 0
    slow.answer()
    assert write(slow, 1) == START + 2


def test_two_hosts_that_answer_one_key_do_not_drive_each_other_ahead():
    hosts = [Key(), Key()]
    written, answers = 0, 0
    for second in range(600):
        for host in hosts:
            host.set_clock(START + second)
            host.limiter.adopt(host.slot, written, float(second))
            host.answer()
            answers += 1
            written = max(written, write(host, 1, float(second)))
    # Two requests a second, so one second of lead in each second.
    assert max(host.given[-1] for host in hosts) <= START + answers + 10


def test_a_slow_key_that_alternates_between_hosts_keeps_the_time_of_the_clock():
    hosts = [Key(), Key()]
    written = 0
    for turn in range(100):
        host, second = hosts[turn % 2], 70 * turn
        host.set_clock(START + second)
        host.limiter.adopt(host.slot, written, float(second))
        assert host.answer() == [START + second]
        written = max(written, write(host, 1, float(second)))


@pytest.mark.parametrize("lead", [1, 500, 1000, 3000])
@pytest.mark.parametrize("hours", [1, 24])
def test_a_clock_that_was_wrong_for_a_while_repeats_no_value(lead, hours):
    """It was set forward by mistake, and then back to the right time."""
    key = Key()
    key.answer(lead)
    key.wait(hours * HOUR + 5)
    key.answer(3)
    key.set_clock(START + 10)
    for _ in range(300):
        key.answer(3)
        key.wait(11)
    assert_created_by_the_rule(key.given)
