"""The log: one line of JSON per event."""

import json
import logging
import sys

from readback.logs import JsonLine


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
