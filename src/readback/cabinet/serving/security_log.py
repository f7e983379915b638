"""The security log: one line of JSON for each security event.

A line contains the ids of the account and the key, and the client's network address. It
never contains an e-mail address, the name of a key, a password, a link or a key: what
people type into the wrong field must not end up here.

READBACK_SECURITY_LOG says where the lines go. Without it, servers write to standard
error, and commands write no lines. Lines that cannot be written go to standard error.
No page waits for a line to be written.
"""

import json
import logging
import os
import sys
from contextlib import suppress
from logging.handlers import QueueHandler, SysLogHandler, WatchedFileHandler
from typing import Any
from urllib.parse import urlsplit

from allauth.core import context
from django.http import HttpRequest
from django.utils import timezone

from readback.cabinet.serving import visitors
from readback.config import Config
from readback.logs import LineQueue
from readback.setting_values import SYSLOG

_log = logging.getLogger("readback.security")
_SYSLOG_PORT = 514
# The command that the operator ran; empty in a server.
_command = ""


def record(event: str, *, account: int | None = None, key: int | None = None) -> None:
    """Write a line; `by` and `ip` are taken from the current request."""
    request: HttpRequest | None = context.request
    # The account that is logged in; commands have none.
    actor = getattr(request, "user", None)
    line = {
        "time": timezone.now().isoformat(timespec="milliseconds"),
        "event": event,
        "account": account,
        "key": key,
        "by": actor.pk if actor is not None else None,
        "ip": visitors.client_address(request) if request else None,
    }
    if _command:
        line["command"] = _command
    # JSON escapes line breaks, so no value can forge a second line.
    _log.info(json.dumps(line))


def enable(config: Config, command: str = "") -> None:
    """Start writing the log. For a command, do so only if READBACK_SECURITY_LOG is set.

    The command is what the operator typed, such as "readback account deactivate".
    """
    global _command
    if command and not config.security_log:
        return
    _command = command
    place = config.security_log
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if place.startswith(SYSLOG):
        url = urlsplit(place)
        port = url.port or _SYSLOG_PORT
        handler = _Syslog((url.hostname, port) if url.hostname else "/dev/log")
    elif place:
        handler = _File(place, encoding="utf-8", delay=True)
    if place and not command:
        queue: Any = LineQueue("security log", handler.handle)
        handler = QueueHandler(queue)
    _log.addHandler(handler)


class _ElseStandardError(logging.Handler):
    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        reason = getattr(error, "strerror", None) or type(error).__name__
        problem = f"The security log cannot be written: {reason}."
        print(self.format(record), problem, sep="\n", file=sys.stderr, flush=True)


class _File(_ElseStandardError, WatchedFileHandler):
    """A log file that only its owner can read and that logrotate may move."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
        except OSError:  # the file cannot be opened
            self.handleError(record)

    def _open(self) -> Any:
        def private(path: str, flags: int) -> int:
            return os.open(path, flags, 0o600)

        return open(self.baseFilename, "a", encoding="utf-8", opener=private)


class _Syslog(_ElseStandardError, SysLogHandler):
    ident = "readback: "
    append_nul = False

    def __init__(self, address: str | tuple[str, int]) -> None:
        with suppress(OSError):  # each line tries to connect again
            super().__init__(address, SysLogHandler.LOG_AUTHPRIV)
