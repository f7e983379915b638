"""Work grows at most linearly with what is sent, whatever its shape.

Executed machine instructions are counted, not seconds. Each table of cases names the
places where somebody outside can send something, and the shapes that cost most there.
"""

from functools import cache
from importlib import import_module

import pytest
from tests.support import instructions
from tests.support.instructions import WorstCase
from tests.support.worst_cases_api import MOST_PER_REQUEST

API = "tests.support.worst_cases_api"
OUTSIDE_API = ["tests.support.worst_cases_outside_api"]
# If the input is twice as long, the work is at most this many times as much …
GROWTH = 2.2
# … and what a longer input may cause only once: a refusal that is explained.
ONCE = 4_000_000
# Requests that arrive in many packets are worked on packet by packet, and pipelined
# ones one by one; others are served in between.
IN_STEPS = ("packets: ", "requests at once")


def cases_of(*tables: str) -> list[WorstCase]:
    return [case for table in tables for case in import_module(table).CASES]


def names_of(*tables: str) -> list[str]:
    return [case.name for case in cases_of(*tables)]


@cache
def count(*tables: str) -> dict[str, list[int]]:
    if reason := instructions.why_not():
        pytest.skip(reason)
    return instructions.count(*tables)


def assert_linear(counted: list[int]) -> None:
    quarter, half, whole = counted
    assert half <= GROWTH * quarter + ONCE
    assert whole <= GROWTH * half + ONCE


@pytest.mark.parametrize("name", names_of(API))
def test_twice_the_request_is_at_most_twice_the_work(name: str) -> None:
    assert_linear(count(API)[name])


@pytest.mark.parametrize(
    "name", [name for name in names_of(API) if not name.startswith(IN_STEPS)]
)
def test_no_request_costs_a_worker_more_than_five_milliseconds(name: str) -> None:
    assert count(API)[name][-1] <= MOST_PER_REQUEST


@pytest.mark.long
@pytest.mark.parametrize("name", names_of(*OUTSIDE_API))
def test_twice_the_input_is_at_most_twice_the_work(name: str) -> None:
    assert_linear(count(*OUTSIDE_API)[name])
