"""Logging: one line of JSON per event, or plain text on a terminal.

JSON escapes line breaks, so no value can forge a second event. Whoever writes a line
must see to it that it contains no text and no key.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any


class JsonLine(logging.Formatter):
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


class PlainLine(logging.Formatter):
    """Formats an event for a terminal."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")


def configuration() -> dict[str, Any]:
    """Return a configuration for `logging.config`, for gunicorn and for Django."""
    form = PlainLine if sys.stderr.isatty() else JsonLine
    quiet = {"handlers": ["stderr"], "level": "WARNING", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": form}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {"readback": quiet, "gunicorn.error": quiet},
    }


def describe_error(error: BaseException) -> str:
    """Return the type and the traceback of an exception, without its message.

    A message may quote a request; the lines of code do not.
    """
    return (
        f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"
    )
