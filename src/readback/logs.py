"""How the service logs: lines of JSON, or plain ones when a person is watching.

One event, one line, whatever is in it: JSON escapes line breaks, so nothing can
pretend to be a second event. What is worth a line, and that no text or key is in it,
is for those who write it.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any


class JsonLine(logging.Formatter):
    """One event as one line of JSON, with the time in UTC."""

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
    """The same for a terminal."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")


def configuration() -> dict[str, Any]:
    """Give what `logging.config` takes; gunicorn and Django both pass it on."""
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
