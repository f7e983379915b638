"""Send one HTTP request, and record the bytes that are sent and received.

For pages that show what goes over the wire. Everything is bounded: the time, the bytes
that are read, and the number of exchanges at once. No redirect is followed, and no
proxy is used. Nothing here knows keys, the contract or Django.
"""

import io
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from urllib.parse import SplitResult, urlsplit

from readback.cabinet.serving.slots import NoFreeSlot, Slots

# From the look-up of the name to the last byte of the answer.
SECONDS = 5.0
# How much longer a page waits for an exchange that should have ended.
_GRACE_SECONDS = 1.0
MAX_RECEIVED_BYTES = 65_536
# Per process, which has eight threads for pages.
MAX_AT_ONCE = 2
_PART_BYTES = 16_384
_DEFAULT_PORTS = {"http": 80, "https": 443}

_slots = Slots(MAX_AT_ONCE)


class ExchangeFailure(StrEnum):
    """Why there is no complete answer."""

    NAME = "name"  # the host name cannot be looked up
    CONNECTION = "connection"  # no TCP connection
    TLS = "tls"  # no handshake, or a certificate that is not trusted
    SILENCE = "silence"  # no complete answer in time
    CLOSED = "closed"  # the connection was closed before the answer was complete
    NOT_HTTP = "not_http"
    TOO_LARGE = "too_large"


class TooManyExchanges(Exception):
    """As many exchanges as allowed are running; nothing was sent."""


@dataclass(frozen=True)
class Target:
    """Where a request goes: a URL, or a unix socket that serves this URL."""

    url: str
    unix_socket: str = ""


@dataclass
class RecordedExchange:
    """What was sent and received; filled in while it happens."""

    sent: bytes = b""
    received: bytes = b""
    seconds: float = 0.0
    # None if the answer has no readable head.
    response: HTTPResponse | None = None
    # The body without its transfer coding.
    body: bytes = b""
    failure: ExchangeFailure | None = None
    # What the operating system or OpenSSL says about the failure, in English.
    reason: str = ""


def post(
    target: Target, headers: Mapping[str, str | bytes], body: bytes
) -> RecordedExchange:
    """Send a POST request; raise `TooManyExchanges` if too many are running.

    It runs in a thread of its own because nothing else bounds the look-up of a name.
    """
    exchange = partial(_exchange, target, headers, body)
    try:
        return _slots.run(exchange, SECONDS + _GRACE_SECONDS)
    except NoFreeSlot:
        raise TooManyExchanges from None
    except TimeoutError:  # what follows the look-up has a deadline of its own
        return RecordedExchange(seconds=SECONDS, failure=ExchangeFailure.NAME)


def _exchange(
    target: Target, headers: Mapping[str, str | bytes], body: bytes
) -> RecordedExchange:
    begun, exchange = time.monotonic(), RecordedExchange()
    try:
        with _connected(target, begun + SECONDS) as connected:
            recorder = _RecordingSocket(connected, begun + SECONDS, exchange)
            _ask(target, recorder, headers, body)
    except _Failed as failed:
        exchange.failure, exchange.reason = failed.failure, failed.reason
    exchange.seconds = time.monotonic() - begun
    return exchange


class _Failed(Exception):
    def __init__(self, failure: ExchangeFailure, error: Exception | None = None):
        self.failure = failure
        self.reason = "" if error is None else _reason(error)


class _RecordingSocket:
    """What http.client needs of a socket; records every byte, until the deadline."""

    def __init__(
        self, connected: socket.socket, deadline: float, exchange: RecordedExchange
    ) -> None:
        self._socket = connected
        self._deadline = deadline
        self.exchange = exchange

    def sendall(self, data: bytes) -> None:
        while data:
            self._socket.settimeout(_left(self._deadline))
            count = self._socket.send(data)
            self.exchange.sent += data[:count]
            data = data[count:]

    def receive_into(self, buffer: memoryview) -> int:
        room = MAX_RECEIVED_BYTES - len(self.exchange.received)
        if not room:
            raise _Failed(ExchangeFailure.TOO_LARGE)
        self._socket.settimeout(_left(self._deadline))
        count = self._socket.recv_into(buffer, min(len(buffer), room))
        self.exchange.received += buffer[:count]
        return count

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_ReceivedBytes(self))

    def close(self) -> None:
        """Do nothing: http.client closes before it reads, and expects a duplicate."""


class _ReceivedBytes(io.RawIOBase):
    def __init__(self, recorder: _RecordingSocket) -> None:
        self._recorder = recorder

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._recorder.receive_into(buffer)


def _ask(
    target: Target,
    recorder: _RecordingSocket,
    headers: Mapping[str, str | bytes],
    body: bytes,
) -> None:
    """Send the request and read the answer; raise `_Failed` if it is not complete."""
    url, exchange = urlsplit(target.url), recorder.exchange
    connection = HTTPConnection(url.hostname or "", _port(url))
    connection.default_port = _DEFAULT_PORTS[url.scheme]  # not named in Host
    connection.sock = recorder
    try:
        # The server may refuse a large request before it has read all of it.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request("POST", url.path, body, headers)
        exchange.response = connection.getresponse()
        while part := exchange.response.read(_PART_BYTES):
            exchange.body += part
    except TimeoutError as error:
        raise _Failed(ExchangeFailure.SILENCE) from error
    except (OSError, IncompleteRead) as error:
        raise _Failed(ExchangeFailure.CLOSED) from error
    except (HTTPException, ValueError) as error:
        raise _Failed(ExchangeFailure.NOT_HTTP) from error
    if exchange.response.length:
        raise _Failed(ExchangeFailure.CLOSED)


def _connected(target: Target, deadline: float) -> socket.socket:
    url = urlsplit(target.url)
    if target.unix_socket:
        connected = _connect(socket.AF_UNIX, target.unix_socket, _left(deadline))
    else:
        connected = _connect_to_host(url.hostname or "", _port(url), deadline)
    if url.scheme != "https":
        return connected
    connected.settimeout(_left(deadline))
    return _with_tls(connected, url.hostname or "")


def _connect_to_host(host: str, port: int, deadline: float) -> socket.socket:
    """Connect to the first address that accepts; each gets its share of the time."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise _Failed(ExchangeFailure.NAME, error) from error
    for number, (family, *_, address) in enumerate(found, 1):
        seconds = _left(deadline) / (len(found) + 1 - number)
        try:
            return _connect(family, address, seconds)
        except _Failed:
            if number == len(found):
                raise
    raise _Failed(ExchangeFailure.NAME)


def _connect(family: int, address: object, seconds: float) -> socket.socket:
    connecting = socket.socket(family, socket.SOCK_STREAM)
    connecting.settimeout(seconds)
    try:
        connecting.connect(address)  # type: ignore[arg-type]
    except OSError as error:
        connecting.close()
        raise _Failed(ExchangeFailure.CONNECTION, error) from error
    return connecting


def _with_tls(connected: socket.socket, host: str) -> ssl.SSLSocket:
    """Return the connection with TLS, verified with the store of this machine."""
    # Made for each exchange: the operator may renew the store.
    context = ssl.create_default_context()
    try:
        return context.wrap_socket(connected, server_hostname=host)
    except OSError as error:
        connected.close()
        raise _Failed(ExchangeFailure.TLS, error) from error


def _port(url: SplitResult) -> int:
    return url.port or _DEFAULT_PORTS[url.scheme]


def _reason(error: Exception) -> str:
    """Return the shortest text that says what is wrong."""
    names = ("verify_message", "reason", "strerror")
    return next(filter(None, (getattr(error, name, "") for name in names)), str(error))


def _left(deadline: float) -> float:
    """Return the seconds until the deadline; 0 would mean a socket without waiting."""
    return max(deadline - time.monotonic(), 0.001)
