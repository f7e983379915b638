"""How e-mails leave: Django's mail settings, and the backends that print or send.

The timeout of a socket starts again with every byte, so a timer ends a conversation
that takes too long. E-mails are printed decoded, because nobody can click a link that
is split over encoded lines, and to standard error: standard output is for commands.
"""

import smtplib
import socket
import ssl
import sys
from collections.abc import Sequence
from contextlib import suppress
from email.utils import parseaddr, quote
from threading import Timer
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.backends.smtp import EmailBackend

from readback.config import Config
from readback.setting_values import is_loopback

# From the connection to the end of the conversation, however slowly it goes.
DEADLINE_SECONDS = 30.0
_RULE = "-" * 72
_PORTS = {"smtp": 25, "smtps": 465}
# For connecting to one address of the server, and for each of its answers.
_TIMEOUT_SECONDS = 10


def settings(smtp_url: str) -> dict[str, Any]:
    """Return Django's EMAIL_… settings; without a server, e-mails are printed."""
    if not smtp_url:
        return {"EMAIL_BACKEND": "readback.cabinet.mail.backends.TerminalBackend"}
    url = urlsplit(smtp_url)
    return {
        "EMAIL_BACKEND": "readback.cabinet.mail.backends.DeadlineBackend",
        "EMAIL_HOST": url.hostname,
        "EMAIL_PORT": url.port or _PORTS[url.scheme],
        "EMAIL_HOST_USER": unquote(url.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(url.password or ""),
        "EMAIL_USE_SSL": url.scheme == "smtps",
        # Never send a password over an unencrypted connection.
        "EMAIL_USE_TLS": url.scheme == "smtp" and bool(url.username),
        "EMAIL_TIMEOUT": _TIMEOUT_SECONDS,
    }


def sender(mail_from: str, name: str) -> str:
    """Return the sender of e-mails; a name that it has itself is kept."""
    own, address = parseaddr(mail_from)
    return f'"{quote(own or name)}" <{address}>'


def server_is_missing(config: Config) -> bool:
    """Return whether people on other machines cannot receive their e-mails."""
    host = urlsplit(config.effective_cabinet_url).hostname or ""
    is_local = is_loopback(host) and config.cabinet_bind.is_loopback
    return not config.smtp_url and not is_local


class DeadlineClient(smtplib.SMTP):
    """smtplib's client, which is disconnected when its time is up."""

    _timer: Timer | None = None

    def __init__(self, *args: Any, context: Any = None, **options: Any) -> None:
        self._tls: ssl.SSLContext | None = context
        super().__init__(*args, **options)

    def _get_socket(
        self, host: str, port: int, timeout: float
    ) -> socket.socket | ssl.SSLSocket:
        connected: socket.socket = super()._get_socket(host, port, timeout)  # type: ignore[misc]
        # TLS replaces the socket object; a duplicate shuts the connection down anyway.
        self._duplicate = connected.dup()
        self._timer = Timer(DEADLINE_SECONDS, self._disconnect)
        self._timer.daemon = True
        self._timer.start()
        if self._tls is None:
            return connected
        try:
            return self._tls.wrap_socket(connected, server_hostname=host)
        except BaseException:
            self.close()
            raise

    def _disconnect(self) -> None:
        # Whatever the client is waiting for ends with an error.
        with suppress(OSError):
            self._duplicate.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        super().close()
        if self._timer is not None:
            self._timer.cancel()
            self._duplicate.close()


class DeadlineBackend(EmailBackend):
    # Django passes `context` to it if TLS starts at once.
    connection_class = DeadlineClient


class TerminalBackend(BaseEmailBackend):
    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for mail in email_messages:
            head = f"Mail to {', '.join(mail.to)}: {mail.subject}"
            print(_RULE, head, "", mail.body, _RULE, sep="\n", file=sys.stderr)
        sys.stderr.flush()
        return len(email_messages)
