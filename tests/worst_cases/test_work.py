"""Work grows at most linearly with the size of the input, whatever its shape.

Blocks of executed machine instructions are counted, not seconds. Each table of cases
names the places where a stranger can send something, and the most expensive shapes
there.
"""

from functools import cache
from importlib import import_module

import pytest

from tests.worst_cases import counting
from tests.worst_cases.api import MOST_PER_REQUEST
from tests.worst_cases.counting import WorstCase

# Python runs many times more slowly under valgrind; a busy machine needs minutes.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

API = "tests.worst_cases.api"
ANSWERS = "tests.worst_cases.answers"
TABLES = [API, ANSWERS, "tests.worst_cases.outside_api", "tests.worst_cases.probe"]
# If the input is twice as long, there is at most this many times the work …
GROWTH = 2.2
# … plus what a longer input may cause only once: an explained refusal.
ONCE = 250_000
# Requests that arrive in many packets are processed packet by packet, and pipelined
# ones one by one, with other requests in between.
IN_STEPS = ("packets: ", "requests at once")
# The most work for a refusal, as a multiple of that for a success. A refusal has to be
# explained; without an accepted key, the body is not read.
MOST_FOR_A_REFUSAL = 3
MOST_FOR_A_STRANGER = 2
STRANGERS = ("answer: 401", "answer: 404, no key")


def cases_of(table: str) -> list[WorstCase]:
    cases: list[WorstCase] = import_module(table).CASES
    return cases


@cache
def count() -> dict[str, list[int]]:
    """Count all cases in one process, because starting under valgrind takes seconds."""
    if reason := counting.why_not():
        pytest.skip(reason)
    return counting.count(*TABLES)


@pytest.mark.parametrize(
    "name", [case.name for table in TABLES for case in cases_of(table)]
)
def test_twice_the_input_is_at_most_twice_the_work(name: str) -> None:
    quarter, half, whole = count()[name]
    assert half <= GROWTH * quarter + ONCE
    assert whole <= GROWTH * half + ONCE


@pytest.mark.parametrize(
    "name", [case.name for case in cases_of(API) if not case.name.startswith(IN_STEPS)]
)
def test_no_request_costs_a_worker_more_than_five_milliseconds(name: str) -> None:
    assert count()[name][-1] <= MOST_PER_REQUEST


@pytest.mark.parametrize(
    "name", [case.name for case in cases_of(ANSWERS) if "answer: 4" in case.name]
)
def test_a_refusal_costs_little_more_than_a_success(name: str) -> None:
    """Otherwise abuse that a limit refuses would cost us more than the client."""
    is_strangers = name.startswith(STRANGERS)
    most = MOST_FOR_A_STRANGER if is_strangers else MOST_FOR_A_REFUSAL
    assert count()[name][-1] <= most * count()["answer: 200"][-1]
