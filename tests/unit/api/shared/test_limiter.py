"""The limiter: rates, Retry-After, and bounded memory."""

import copy
import math
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from tests.support.memory import reachable_from

from readback.api.shared.created import Limiter
from readback.api.shared.rates import SLOTS, TABLE_BYTES

ALICE, BOB = b"alice", b"bob"


def test_a_burst_is_allowed_and_then_the_rate():
    limiter = Limiter(rate=10, burst=5)
    slot = limiter.slot(ALICE)
    assert [limiter.take(slot, 100.0) for _ in range(7)] == [True] * 5 + [False] * 2
    assert limiter.take(limiter.slot(BOB), 100.0)
    # A tenth of a second later one more is allowed.
    assert [limiter.take(slot, 100.1) for _ in range(2)] == [True, False]
    # After a long time the whole burst is available, but not more.
    assert [limiter.take(slot, 999.0) for _ in range(6)] == [True] * 5 + [False]


@pytest.mark.parametrize(("rate", "burst"), [(1, 1), (2, 10), (20, 1000), (7, 3)])
def test_a_retry_after_the_announced_time_is_accepted(rate, burst):
    limiter = Limiter(rate, burst)
    slot, now = limiter.slot(ALICE), time.monotonic()
    while limiter.take(slot, now):
        pass
    wait = limiter.retry_after(slot)
    assert wait == max(1, math.ceil(1 / rate))
    assert limiter.take(slot, now + wait)


def test_many_keys_use_no_more_memory_than_the_slots():
    limiter = Limiter(rate=1, burst=1, slots=1024)
    slots = {limiter.slot(b"%d" % number) for number in range(50_000)}
    assert len(slots) <= 1024
    kept = [one for one in reachable_from(vars(limiter)) if isinstance(one, bytes)]
    assert len(kept) < 1024  # one object per key would be more


def test_no_key_takes_the_slot_of_another_while_one_is_empty():
    limiter = Limiter(rate=1, burst=10, slots=8)
    assert len({limiter.slot(b"%d" % number) for number in range(8)}) == 8


def test_in_a_full_bucket_the_least_recently_used_slot_is_replaced():
    limiter = Limiter(rate=1, burst=10, slots=8)
    slots = {}
    for number in range(8):
        slots[number] = limiter.slot(b"%d" % number)
        limiter.take(slots[number], 100.0 + number)
    assert limiter.slot(b"newcomer") == slots[0]
    assert limiter.slot(b"7") == slots[7]


def count_with_take(limiter: Limiter, slot: int) -> bool:
    return limiter.take(slot, 100.0)


def count_with_admit(limiter: Limiter, slot: int) -> bool:
    return bool(limiter.admit(slot, 100.0))


def call_held_up(call: Callable[[], Any], after: int, meanwhile: Callable) -> Any:
    """Make a call that is held up once, before the instruction with this number."""
    instructions = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal instructions
        frame.f_trace_opcodes = True
        if event == "opcode":
            instructions += 1
            if instructions == after:
                sys.settrace(None)
                meanwhile()
        return trace

    before = sys.gettrace()
    # Python 3.12 checks this only once, when tracing begins.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(before)


def two_workers() -> tuple[Limiter, Limiter]:
    slow = Limiter(rate=1, burst=50, slots=8, workers=2)
    quick = copy.copy(slow)
    quick.join(1)
    return slow, quick


def allowed_when_held_up(count: Callable, first: int, instruction: int) -> int:
    """Return how many of a burst of 50 two workers allow; 0 if none was held up."""
    slow, quick = two_workers()
    slot = slow.slot(ALICE)
    allowed = [count((slow, quick)[first], slot)]
    meanwhile: list[bool] = []
    allowed.append(
        call_held_up(
            lambda: count(slow, slot),
            instruction,
            lambda: meanwhile.extend(count(quick, slot) for _ in range(20)),
        )
    )
    for worker in slow, quick:
        allowed += [count(worker, slot) for _ in range(60)]
    return sum(allowed + meanwhile) if meanwhile else 0


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("count", [count_with_take, count_with_admit])
def test_a_worker_that_is_held_up_gives_nothing_back(count, first):
    """It is held up at each of its instructions, while another worker counts."""
    for instruction in range(1, 1000):
        allowed = allowed_when_held_up(count, first, instruction)
        if not allowed:
            break
        # One that was counted at the same instant as another may be lost.
        assert 50 <= allowed <= 51, instruction
    assert instruction > 20


def created_of(limiter: Limiter) -> int:
    """Find the slot of a key, and number one answer."""
    return limiter.number(limiter.slot(ALICE), 100.0)


def given_when_held_up(
    slow: Limiter, quick: Limiter, instruction: int, answers: int
) -> list[int]:
    """Return the values of both workers; [] if the slow one was not held up."""
    meanwhile: list[int] = []
    given = call_held_up(
        lambda: [created_of(slow) for _ in range(answers)],
        instruction,
        lambda: meanwhile.extend(created_of(quick) for _ in range(20)),
    )
    if not meanwhile:
        return []
    again = [created_of(worker) for worker in (quick, slow) for _ in range(20)]
    return [*meanwhile, *given, *again]


def test_two_workers_that_find_a_new_key_at_once_give_out_different_values():
    """One is held up at each of its instructions, while another one answers."""
    for instruction in range(1, 1000):
        given = given_when_held_up(*two_workers(), instruction, answers=1)
        if not given:
            break
        assert len(set(given)) == len(given), instruction
    assert instruction > 20


@pytest.mark.parametrize("last", [0, 1], ids=["has the turn", "lost the turn"])
def test_two_workers_that_claim_blocks_at_once_give_out_different_values(last):
    """One is held up at each instruction of a claim, and of what it gives out."""
    for instruction in range(1, 5000):
        workers = two_workers()
        # The lead over the clock is so long that blocks have several numbers.
        before = [created_of(workers[n % 2]) for n in range(90 + last)]
        given = given_when_held_up(*workers, instruction, answers=7)
        if not given:
            break
        all_values = before + given
        assert len(set(all_values)) == len(all_values), instruction
    assert instruction > 200


class Died(Exception):
    """A worker has ended before its next instruction."""


def die() -> None:
    raise Died


def test_a_worker_that_died_during_a_claim_leaves_no_wrong_turn():
    """Its successor has the same row, but does not know what others have claimed."""
    for instruction in range(1, 1000):
        dead, other = two_workers()
        given = [created_of(dead), created_of(other)]
        try:
            call_held_up(lambda dead=dead: created_of(dead), instruction, die)
            break
        except Died:
            dead.join(0)
        given += [created_of(dead), created_of(other)]
        assert len(set(given)) == len(given), instruction
    assert instruction > 20


def test_the_memory_of_many_workers_is_bounded():
    for workers in (1, 16, 64, 512):
        limiter = Limiter(1, 1, workers=workers)
        assert limiter._memory.nbytes <= TABLE_BYTES
        assert limiter.slots >= 8000
    assert Limiter(1, 1, workers=8).slots == SLOTS
