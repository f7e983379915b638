"""Counters in memory that all workers share, so that any worker can sum them.

One row of numbers per worker: a worker writes only its own row, so no lock is needed. A
worker that replaces another continues its row, so totals never decrease. The counters
are named here; `ops.py` says what they mean to an operator.
"""

import mmap
from collections.abc import Container

from readback.contract import ENDPOINTS, REFUSALS

ACCEPTED = ""
CODES = (ACCEPTED, *REFUSALS)

REQUESTS = tuple((endpoint, code) for endpoint in ENDPOINTS for code in CODES)
TOTALS = (
    "connections",
    "statements",
    "database_errors",
    "journal_dropped",
)
GAUGES = (
    "open_connections",
    "known_keys",
    "waiting_keys",
    "pending_rows",
    "database_up",
    "database_writable",
    "alive",
)
_COLUMNS: tuple[object, ...] = (*REQUESTS, *TOTALS, *GAUGES)
_INDEX = {column: index for index, column in enumerate(_COLUMNS)}


class Counters:
    """The rows of all workers. Create it before the workers are forked."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._memory = mmap.mmap(-1, rows * len(_COLUMNS) * 8)
        self._cells = memoryview(self._memory).cast("q")

    def row(self, number: int) -> "WorkerCounters":
        width = len(_COLUMNS)
        return WorkerCounters(self._cells[number * width : (number + 1) * width])

    def retire_all_but(self, rows: Container[int]) -> None:
        """Clear the gauges of workers that have ended, perhaps without doing it."""
        for number in range(self._rows):
            if number not in rows:
                self.row(number).retire()

    def total(self, column: object) -> int:
        index, width = _INDEX[column], len(_COLUMNS)
        return sum(self._cells[row * width + index] for row in range(self._rows))


class WorkerCounters:
    """The counters of one worker."""

    def __init__(self, cells: memoryview) -> None:
        self._cells = cells

    def add(self, column: object, amount: int = 1) -> None:
        self._cells[_INDEX[column]] += amount

    def set(self, column: object, value: int) -> None:
        self._cells[_INDEX[column]] = value

    def get(self, column: object) -> int:
        return int(self._cells[_INDEX[column]])

    def retire(self) -> None:
        """Clear the gauges, which are only true while the worker runs."""
        for gauge in GAUGES:
            self.set(gauge, 0)
