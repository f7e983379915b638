"""Logging: one line of JSON per event, or plain text on a terminal.

JSON escapes line breaks, so no value can forge a second event. The caller must make
sure that a line contains neither a user's text nor a key.

In a server, writing a line never waits for the log's reader: lines go through a
`LineQueue`. If the reader does not keep up, lines are dropped and counted.
"""

import atexit
import io
import json
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from queue import Full, Queue
from typing import Any

_log = logging.getLogger("readback.logs")
# The queues of this process, one for each destination.
_queues: list["LineQueue"] = []
# How many lines are kept for a reader that does not keep up; more are dropped.
MAX_LINES = 2000
# How long a flush waits for such a reader; a worker flushes twice before it exits.
_FLUSH_SECONDS = 1.0

# A limit is needed, because an exception can be its own cause.
_MAX_CAUSES = 5


class PlainLine(logging.Formatter):
    """Formats an event for a terminal, and exceptions as `describe_error` does."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")

    def formatException(self, ei: Any) -> str:
        return describe_error(ei[1]) if ei[1] else ""


class JsonLine(PlainLine):
    """Formats an event as one line of JSON, with the time in UTC."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


def configuration() -> dict[str, Any]:
    """Return a configuration for `logging.config`, and for Django."""
    form = PlainLine if sys.stderr.isatty() else JsonLine
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": form}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
    }


class LineQueue:
    """Passes lines on to a destination that may block; adding a line never blocks.

    A thread writes the lines in order. The first line starts the thread, so each forked
    process has its own. `logging.handlers.QueueHandler` can use this as its queue.
    """

    def __init__(self, name: str, write: Callable[[Any], object]) -> None:
        self._name = name
        self._write = write
        self._begin()
        # The parent's thread writes the old lines, and may hold the lock at the fork.
        os.register_at_fork(after_in_child=self._begin)
        _queues.append(self)

    def _begin(self) -> None:
        self._lines: Queue[Any] = Queue(MAX_LINES)
        self._has_thread = False
        # Dropped lines: how many, and how many of them `take_dropped` has returned.
        self._dropped = 0
        self._taken = 0

    def put_nowait(self, line: Any) -> None:
        try:
            self._lines.put_nowait(line)
        except Full:
            self._drop()
        with self._lines.mutex:
            if not self._has_thread:
                with suppress(RuntimeError):  # too many threads; try at the next line
                    threading.Thread(target=self._run, daemon=True).start()
                    self._has_thread = True

    def take_dropped(self) -> int:
        """Return how many lines were dropped since the last call."""
        with self._lines.mutex:
            count = self._dropped - self._taken
            self._taken = self._dropped
            return count

    def flush(self, until: float) -> None:
        """Wait for all lines to be written; at `until`, count the rest as dropped."""
        lines = self._lines
        with lines.all_tasks_done:
            seconds = until - time.monotonic()
            lines.all_tasks_done.wait_for(lambda: not lines.unfinished_tasks, seconds)
            self._dropped += lines.unfinished_tasks

    def _drop(self) -> None:
        with self._lines.mutex:
            self._dropped += 1

    def _run(self) -> None:
        reported = 0
        while True:
            line = self._lines.get()
            try:
                self._write(line)  # may wait for the reader
            except Exception:
                self._drop()
            else:
                if self._lines.empty() and (missing := self._dropped - reported):
                    reported += missing
                    what = f"{missing} of the {self._name}"
                    _log.warning("log lines were dropped: %s", what)
            self._lines.task_done()


class _StandardError(io.RawIOBase):
    """The stream behind `sys.stderr` in a server."""

    def __init__(self) -> None:
        self._queue = LineQueue("server's log", _write_to_standard_error)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return os.isatty(2)

    def write(self, data: Any) -> int:
        self._queue.put_nowait(bytes(data))
        return len(data)


def never_block() -> None:
    """Keep this process, and those that it forks, from waiting for standard error.

    Even the traceback of a crash does not wait.
    """
    sys.stderr = io.TextIOWrapper(
        _StandardError(), sys.stderr.encoding, sys.stderr.errors, line_buffering=True
    )
    atexit.register(flush)


def flush() -> None:
    """Wait for at most a second until this process's lines are written."""
    until = time.monotonic() + _FLUSH_SECONDS
    for queue in _queues:
        queue.flush(until)


def take_dropped() -> int:
    """Return how many lines this process dropped since the last call."""
    return sum(queue.take_dropped() for queue in _queues)


def _write_to_standard_error(line: bytes) -> None:
    while line:
        line = line[os.write(2, line) :]


def describe_error(error: BaseException) -> str:
    """Return an exception's type and traceback, without its message.

    A message may quote a request; the lines of code do not. The exceptions that led to
    this one follow.
    """
    parts: list[str] = []
    led_to_it: BaseException | None = error
    while led_to_it is not None and len(parts) < _MAX_CAUSES:
        trace = "".join(traceback.format_tb(led_to_it.__traceback__))
        parts.append(f"{type(led_to_it).__name__}\n{trace}")
        context = None if led_to_it.__suppress_context__ else led_to_it.__context__
        led_to_it = led_to_it.__cause__ or context
    return "after ".join(parts)
