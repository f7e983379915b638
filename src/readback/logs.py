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

# An exception can be its own cause.
_MAX_CAUSES = 5


class _WithoutMessages(logging.Formatter):
    """Formats exceptions as `describe_error` does."""

    def formatException(self, ei: Any) -> str:
        return describe_error(ei[1]) if ei[1] else ""


class JsonLine(_WithoutMessages):
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


class PlainLine(_WithoutMessages):
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

    A message may quote a request; the lines of code do not. Exceptions that led to it
    follow.
    """
    parts: list[str] = []
    led_to_it: BaseException | None = error
    while led_to_it is not None and len(parts) < _MAX_CAUSES:
        trace = "".join(traceback.format_tb(led_to_it.__traceback__))
        parts.append(f"{type(led_to_it).__name__}\n{trace}")
        context = None if led_to_it.__suppress_context__ else led_to_it.__context__
        led_to_it = led_to_it.__cause__ or context
    return "after ".join(parts)
