"""Counters in memory that all workers of the API, or of the cabinet, share.

A worker writes only to its own row, so no lock is needed. If it is replaced, its
replacement continues the row, so totals never decrease. Any worker can add up all rows.

The tables describe each metric, by its name without the prefix; docs/monitoring.md
repeats them.
"""

import mmap
from collections.abc import Collection, Hashable
from dataclasses import dataclass

from readback import logs

Column = Hashable

COMMON = {
    "build_info": "Always 1; the labels are plane, version, Python and database.",
    "start_time_seconds": "When the API or the cabinet was started, in Unix time.",
    "worker_deaths_total": "Workers that ended unexpectedly.",
    "log_lines_dropped_total": "Log lines dropped because they were not read.",
}
API = {
    "requests_total": "Requests answered, by endpoint and code (or ok, or rehearsed).",
    "request_seconds": "Time from a request's last byte to its answer, of one in 61.",
    "key_lookups_total": "Look-ups of keys that were not known yet.",
    "connections_total": "Connections accepted, including by replaced workers.",
    "connections_refused_total": "Connections refused at a limit of sockets or files.",
    "open_connections": "Connections open now.",
    "max_open_connections": "Connections that all workers together may have open.",
    "workers": "Workers that are running.",
    "database_readable_workers": "Workers that can read keys from the database.",
    "database_writable_workers": "Workers whose last write of usage succeeded.",
    "database_contact_age_seconds": "Time since every worker last read all its keys.",
    "database_disk_free_bytes": "Free space on the disk of SQLite.",
    "database_errors_total": "Statements or connections that failed.",
    "statements_total": "SQL statements run.",
    "known_keys": "Keys in the workers' memories.",
    "waiting_keys": "Keys that are being looked up.",
    "pending_rows": "Rows of usage and journal that are due and not written yet.",
    "journal_dropped_total": "Requests whose usage could not be kept.",
    "round_errors_total": "Unexpected errors in the periodic work of workers.",
    "certificate_expiry_timestamp_seconds": "When the certificate in use expires.",
}
CABINET = {
    "cabinet_database_up": "1 if the cabinet can read from the database, otherwise 0.",
    "pages_total": "Pages answered, by status.",
    "mails_waiting": "Mails in the outbox.",
    "oldest_mail_age_seconds": "How long the oldest mail has been waiting.",
    "mails_total": "Mails that left the outbox, by outcome.",
    "last_backup_timestamp_seconds": "When `readback backup` last wrote an archive.",
}
# The manager counts these in the row of the worker that has ended.
WORKER_DEATHS = "worker_deaths"
# When a worker last reported that it is up, in milliseconds of the monotonic clock,
# which all processes share.
REPORTED_AT = "reported_at"
# Log lines that a process dropped because they were not read.
LOG_LINES_DROPPED = "log_lines_dropped"
_COMMON = (WORKER_DEATHS, REPORTED_AT, LOG_LINES_DROPPED)


class SharedCounters:
    """The rows of all workers, created before the workers are forked.

    Columns in `transient` only count while their worker runs.
    """

    def __init__(
        self,
        columns: Collection[Column],
        workers: int,
        transient: Collection[Column] = (),
    ) -> None:
        all_columns = (*columns, *_COMMON)
        self._index = {column: index for index, column in enumerate(all_columns)}
        self._transient = (*transient, REPORTED_AT)
        rows = 2 * workers  # during a reload, old and new workers run together
        memory = mmap.mmap(-1, rows * len(self._index) * 8)
        self._values = memoryview(memory).cast("q")

    def row(self, number: int) -> "WorkerCounters":
        width = len(self._index)
        values = self._values[number * width : (number + 1) * width]
        return WorkerCounters(values, self._index, self._transient)

    def total(self, column: Column) -> int:
        return sum(self._column(column))

    def earliest(self, moment: Column) -> int:
        """Return the earliest moment in this column, or 0 if no worker has one."""
        return min((at for at in self._column(moment) if at), default=0)

    def _column(self, column: Column) -> memoryview:
        return self._values[self._index[column] :: len(self._index)]


@dataclass(eq=False)
class WorkerCounters:
    _values: memoryview
    _index: dict[Column, int]
    _transient: Collection[Column]

    def add(self, column: Column, amount: int = 1) -> None:
        self._values[self._index[column]] += amount

    def set(self, column: Column, value: int) -> None:
        self._values[self._index[column]] = value

    def get(self, column: Column) -> int:
        return int(self._values[self._index[column]])

    def view(self, column: Column) -> memoryview:
        """Return the memory of one counter, which is faster to read than `get`."""
        index = self._index[column]
        return self._values[index : index + 1]

    def count_log_lines(self) -> None:
        """Add the log lines that this process has dropped since the last call."""
        self.add(LOG_LINES_DROPPED, logs.take_dropped())

    def retire(self) -> None:
        """Clear the columns that only count while the worker runs."""
        for column in self._transient:
            self.set(column, 0)
