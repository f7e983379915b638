"""The security log: one line of JSON for each event relevant to security.

A line contains ids, of the account and the key, and the client's network address.
It never contains an e-mail address, a label, a password, a link or a key: what people
type into the wrong field must not end up here.

A server writes it to standard error or, like commands, where READBACK_SECURITY_LOG
says. A line that cannot be written there goes to standard error.
"""

import json
import logging
import os
import socket
import sys
from logging.handlers import SysLogHandler, WatchedFileHandler
from typing import Any
from urllib.parse import urlsplit

from allauth.core import context
from django.http import HttpRequest
from django.utils import timezone

from readback.cabinet.serving import visitors
from readback.config import Config
from readback.setting_values import SYSLOG

_log = logging.getLogger("readback.security")
# A page does not wait longer for the daemon.
_SYSLOG_SECONDS = 1.0
_SYSLOG_PORT = 514
_PRIORITY = SysLogHandler.LOG_AUTHPRIV << 3 | SysLogHandler.LOG_INFO


def record(
    event: str,
    *,
    account: int | None,
    key: int | None = None,
    invitation: int | None = None,
) -> None:
    """Write one line; the actor and the network address come from the request."""
    request: HttpRequest | None = context.request
    # The account that is logged in; none is in a command.
    actor = getattr(request, "user", None)
    line = {
        "time": timezone.now().isoformat(timespec="milliseconds"),
        "event": event,
        "account": account,
        "key": key,
        "by": actor.pk if actor is not None else None,
        "ip": visitors.client_address(request) if request else None,
    }
    if invitation is not None:
        line["invitation"] = invitation
    # JSON escapes line breaks, so no value can forge a second line.
    _log.info(json.dumps(line))


def enable(config: Config, command: str | None = None) -> None:
    """Write the log from now on; a command does so only if the setting names a place.

    Otherwise, its log lines would be among its own output. The command is what the
    operator called, such as "readback account deactivate".
    """
    if command and not config.security_log:
        return
    handler = _handler(config.security_log)
    handler.setFormatter(_Line(command))
    _log.addHandler(handler)


class _Line(logging.Formatter):
    def __init__(self, command: str | None) -> None:
        super().__init__()
        self._added = {"command": command} if command else {}

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(json.loads(record.getMessage()) | self._added)


def _handler(place: str) -> logging.Handler:
    if not place:
        return logging.StreamHandler(sys.stderr)
    if place.startswith(SYSLOG):
        url = urlsplit(place)
        port = url.port or _SYSLOG_PORT
        return _Syslog((url.hostname, port) if url.hostname else "/dev/log")
    return _File(place, encoding="utf-8", delay=True)


class _ElseStandardError(logging.Handler):
    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        reason = getattr(error, "strerror", None) or type(error).__name__
        problem = f"The security log cannot be written: {reason}."
        print(self.format(record), problem, sep="\n", file=sys.stderr, flush=True)


class _File(_ElseStandardError, WatchedFileHandler):
    """A file for its owner alone, which logrotate may move away."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
        except OSError:  # it cannot be opened
            self.handleError(record)

    def _open(self) -> Any:
        def private(path: str, flags: int) -> int:
            return os.open(path, flags, 0o600)

        return open(self.baseFilename, "a", encoding="utf-8", opener=private)


class _Syslog(_ElseStandardError):
    """Datagrams by RFC 3164, each over a socket of its own: a daemon may restart."""

    def __init__(self, address: str | tuple[str, int]) -> None:
        super().__init__()
        self._address = address

    def emit(self, record: logging.LogRecord) -> None:
        data = f"<{_PRIORITY}>readback: {self.format(record)}".encode()
        try:
            if isinstance(self._address, str):
                _send(socket.AF_UNIX, self._address, data)
            else:
                host, port = self._address
                kind = socket.SOCK_DGRAM
                [found, *_others] = socket.getaddrinfo(host, port, type=kind)
                _send(found[0], found[4], data)
        except OSError:
            self.handleError(record)


def _send(family: int, address: Any, data: bytes) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.settimeout(_SYSLOG_SECONDS)
        sender.sendto(data, address)
