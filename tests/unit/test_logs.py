"""The log has one line of JSON per event, and nothing waits for a slow reader."""

import json
import logging
import os
import subprocess
import sys
import threading
from textwrap import dedent
from typing import Any

import pytest
from tests.support.waiting import PATIENCE, wait_until

from readback import logs
from readback.logs import JsonLine, LineQueue, PlainLine, describe_error


def test_an_event_is_one_line_with_the_time_in_utc() -> None:
    error = error_with_a_cause()
    info = (type(error), error, error.__traceback__)
    text = ("it %s", ("works\r\nnot",), info)
    record = logging.LogRecord("readback.x", logging.ERROR, "", 1, *text)
    record.created = 0.25
    line = JsonLine().format(record)
    assert "\n" not in line and "\r" not in line
    event = json.loads(line)
    assert event["time"] == "1970-01-01T00:00:00.250+00:00"
    assert event["level"] == "error"
    assert event["message"] == "it works\r\nnot"
    assert "ValueError" in event["trace"]


def error_with_a_cause() -> Exception:
    try:
        try:
            raise KeyError("a secret")
        except KeyError as cause:
            raise ValueError("another secret") from cause
    except ValueError as error:
        return error


@pytest.mark.parametrize("form", [JsonLine, PlainLine])
def test_a_trace_has_the_types_of_errors_and_not_their_messages(form) -> None:
    error = error_with_a_cause()
    info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x", logging.ERROR, "", 1, "it fails", (), info)
    written = form().format(record)
    assert "ValueError" in written and "after KeyError" in written
    assert "error_with_a_cause" in written
    # Quoted source lines contain the messages, but none may follow an exception type.
    assert "KeyError: " not in written and "ValueError: " not in written


def test_an_error_that_is_its_own_cause_is_described() -> None:
    error = ValueError()
    error.__cause__ = error
    assert describe_error(error).count("ValueError") == 5


class Reader:
    """A destination for a queue; writing to it blocks until `reads` is set."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.reads = threading.Event()

    def write(self, line: Any) -> None:
        self.reads.wait(PATIENCE)
        self.lines.append(line)

    def wait_for(self, count: int) -> None:
        wait_until(lambda: len(self.lines) == count, "the lines are written")


@pytest.fixture
def reader():
    made = Reader()
    yield made
    made.reads.set()


@pytest.fixture
def queue(reader, monkeypatch):
    monkeypatch.setattr(logs, "_queues", [])
    monkeypatch.setattr(logs, "MAX_LINES", 10)
    return LineQueue("log", reader.write)


def test_a_queue_is_bounded(queue, reader, caplog) -> None:
    queue.put_nowait(b"first")
    wait_until(queue._lines.empty, "the first line is being written")
    for number in range(13):
        queue.put_nowait(b"%d" % number)
    assert (logs.take_dropped(), logs.take_dropped()) == (3, 0)
    reader.reads.set()
    reader.wait_for(11)
    wait_until(lambda: caplog.messages, "the log says how many are missing")
    assert caplog.messages == ["log lines were dropped: 3 of the log"]
    queue.put_nowait(b"next")
    reader.wait_for(12)
    written = [b"%d" % number for number in range(10)]
    assert reader.lines == [b"first", *written, b"next"]


def test_a_line_that_cannot_be_written_is_counted(monkeypatch) -> None:
    monkeypatch.setattr(logs, "_queues", [])

    def fail(line: bytes) -> None:
        raise BrokenPipeError

    queue = LineQueue("log", fail)
    queue.put_nowait(b"x")
    wait_until(lambda: logs.take_dropped() == 1, "it is counted")


def run(program: str, stderr: int) -> int:
    """Run a program whose writes to stderr never block; return its exit code."""
    begin = "import os, sys\nfrom readback import logs\nlogs.never_block()\n"
    command = [sys.executable, "-c", begin + dedent(program)]
    return subprocess.run(command, stderr=stderr, timeout=PATIENCE).returncode


def output(program: str) -> list[str]:
    reader, writer = os.pipe()
    with open(reader) as pipe:
        run(program, writer)
        os.close(writer)
        return pipe.read().splitlines()


def test_the_last_lines_before_an_exit_are_written() -> None:
    lines = output("for n in range(500): print(n, file=sys.stderr)")
    assert lines == [str(number) for number in range(500)]


def test_the_last_line_of_a_crash_is_written() -> None:
    lines = output("print('before', file=sys.stderr)\nraise ValueError('crash')")
    assert (lines[0], lines[-1]) == ("before", "ValueError: crash")


def test_a_forked_process_writes_its_own_lines_and_no_other() -> None:
    lines = output(
        """
        for n in range(20):
            print("parent", file=sys.stderr)
            if os.fork() == 0:
                print("child", file=sys.stderr)
                sys.exit()
            os.wait()
        """
    )
    assert (lines.count("parent"), lines.count("child")) == (20, 20)


def test_a_process_ends_although_nobody_reads() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writer, b"x")
    os.set_blocking(writer, True)
    # During the fork, the lock is held by a thread that does not exist in the child.
    program = """
        print("parent", file=sys.stderr)
        if os.fork() == 0:
            print("child", file=sys.stderr)
            sys.exit(7)
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
    """
    assert run(program, writer) == 7
    for descriptor in (reader, writer):
        os.close(descriptor)
