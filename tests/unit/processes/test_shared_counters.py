"""Counters of several workers: any of them can sum, and none is lost."""

import pytest

from readback.processes.shared_counters import SharedCounters


@pytest.fixture
def counters():
    return SharedCounters(("total", "gauge"), rows=3, transient=("gauge",))


def test_a_column_is_the_sum_over_all_workers(counters):
    counters.row(0).add("total", 2)
    counters.row(2).add("total")
    assert counters.total("total") == 3


def test_a_worker_that_ends_leaves_its_totals_and_not_its_gauges(counters):
    for number in (0, 1):
        counters.row(number).add("total")
        counters.row(number).set("gauge", 1)
    counters.row(1).retire()
    assert (counters.total("total"), counters.total("gauge")) == (2, 1)
    # The worker that replaces it continues its row.
    counters.row(1).add("total")
    assert counters.total("total") == 3


def test_the_master_has_a_row_of_its_own(counters):
    counters.row_of_master().add("total", 5)
    counters.row(2).add("total")
    assert counters.total("total") == 6
