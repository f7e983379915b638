"""No answer leaves anything in a worker's memory; no case breaks the probe."""

import gc
import sys

import pytest

from tests.worst_cases.answers import KINDS, RECOGNISING, REQUESTS, send
from tests.worst_cases.counting import WorstCase
from tests.worst_cases.probe import CASES


@pytest.mark.parametrize("name", KINDS)
def test_a_request_leaves_nothing_in_memory(name: str) -> None:
    send(KINDS[name], RECOGNISING, REQUESTS)  # fills caches
    gc.collect()
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        send(KINDS[name], RECOGNISING, REQUESTS)
        gc.collect()
        kept = sys.getallocatedblocks() - before
    finally:
        gc.enable()
    assert kept < REQUESTS / 10


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_worst_case_causes_no_error_in_the_probe(case: WorstCase) -> None:
    case.run(case.make(case.limit // 64))
