"""Counters of several workers: any of them can sum, and none is lost."""

from math import inf

import pytest

from readback.processes.shared_counters import Histogram, SharedCounters

TIMES = Histogram("times", (0.001, 0.5))


@pytest.fixture
def counters():
    columns = ("total", "gauge", *TIMES.columns)
    return SharedCounters(columns, rows=3, transient=("gauge",))


def test_a_column_is_the_sum_over_all_workers(counters):
    counters.row(0).add("total", 2)
    counters.row(2).add("total")
    assert counters.total("total") == 3


def test_a_worker_that_ends_leaves_its_totals_and_not_its_gauges(counters):
    for number in (0, 1):
        counters.row(number).add("total")
        counters.row(number).set("gauge", 1)
    counters.retire_all_but({0})
    assert (counters.total("total"), counters.total("gauge")) == (2, 1)
    # The worker that replaces it continues its row.
    counters.row(1).add("total")
    assert counters.total("total") == 3


def test_the_master_has_a_row_of_its_own(counters):
    counters.row_of_master().add("total", 5)
    counters.row(2).add("total")
    counters.retire_all_but({0})
    assert counters.total("total") == 6


def test_a_histogram_counts_what_was_not_above_each_bound(counters):
    for worker, seconds in ((0, 0.0), (1, 0.001), (1, 0.1), (2, 0.5), (0, 7.0)):
        TIMES.observe(counters.row(worker), seconds)
    assert TIMES.buckets(counters) == [(0.001, 2), (0.5, 4), (inf, 5)]
    assert TIMES.seconds(counters) == pytest.approx(7.601)
