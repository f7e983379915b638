"""The log: one line of JSON per event."""

import json
import logging
import sys

import pytest

from readback.logs import JsonLine, PlainLine, describe_error


def line_of(message: str, *args: object, failed: bool = False) -> str:
    info = None
    if failed:
        try:
            raise ValueError("two\nlines")
        except ValueError:
            info = sys.exc_info()
    record = logging.LogRecord("readback.x", logging.ERROR, "", 1, message, args, info)
    record.created = 0.25
    return JsonLine().format(record)


def test_an_event_is_one_line_with_the_time_in_utc() -> None:
    line = line_of("it %s", "works\r\nnot")
    assert "\n" not in line and "\r" not in line
    event = json.loads(line)
    assert event["time"] == "1970-01-01T00:00:00.250+00:00"
    assert event["level"] == "error"
    assert event["message"] == "it works\r\nnot"


def test_a_traceback_is_part_of_the_line_of_its_event() -> None:
    line = line_of("it fails", failed=True)
    assert "\n" not in line
    assert "ValueError" in json.loads(line)["trace"]


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
    # The line of code is shown, and it has the text here; no value is.
    assert "KeyError: " not in written and "ValueError: " not in written


def test_an_error_that_is_its_own_cause_is_described() -> None:
    error = ValueError()
    error.__cause__ = error
    assert describe_error(error).count("ValueError") == 5
