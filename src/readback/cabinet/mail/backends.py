"""A mail backend whose conversation with the server has a total deadline.

The timeout of a socket starts again with every byte, so a server that sends one byte at
a time could hold a client for hours. Here a timer ends the connection.
"""

import smtplib
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from threading import Timer

from django.core.mail.backends.smtp import EmailBackend

# From the connection to the end of the conversation, however slowly it goes.
DEADLINE_SECONDS = 30.0


class DeadlineClient(smtplib.SMTP):
    """smtplib's client, which is disconnected when its time is up."""

    _timer: Timer | None = None

    def __init__(
        self,
        host: str,
        port: int,
        *,
        context: ssl.SSLContext | None = None,
        **rest: str,
    ) -> None:
        self._tls = context
        super().__init__(host, port, **rest)  # type: ignore[arg-type]

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
    @property
    def connection_class(self) -> Callable[..., smtplib.SMTP]:
        """Return the client; Django passes `context` if TLS starts at once."""
        return DeadlineClient
