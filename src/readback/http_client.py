"""HTTP requests of the cabinet and of the commands, bounded in time and in size.

The timeout of a socket starts again with every byte, so a `_BoundedSocket` has one
deadline for a whole request. A name lookup has no timeout; where it may hang, `Slots`
runs it in a thread.
"""

import io
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import closing, suppress
from email.message import Message
from functools import partial
from http.client import (
    HTTP_PORT,
    HTTPS_PORT,
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    IncompleteRead,
)
from threading import BoundedSemaphore, Thread
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

# For one answer, including its head.
MAX_RECEIVED_BYTES = 65_536
_PART_BYTES = 16_384

# The family of a socket, and an address or a path.
SocketAddress = tuple[int, Any]
T = TypeVar("T")


class AnswerTooLarge(HTTPException):
    """The answer has more than MAX_RECEIVED_BYTES."""

    def __str__(self) -> str:
        return "the answer is too large"


class Answer(NamedTuple):
    status: int
    headers: Message
    body: bytes


def send(
    method: str,
    url: str,
    seconds: float,
    *,
    address: SocketAddress | None = None,
    headers: Mapping[str, str | bytes] | None = None,
    body: bytes | None = None,
) -> Answer:
    """Send a request and return the whole answer; use no proxy, follow no redirect.

    If an address is given, connect to it and not to the host. Raise OSError,
    HTTPException or ValueError if there is no answer in HTTP in time.
    """
    deadline = time.monotonic() + seconds
    parts = urlsplit(url)
    default_port = HTTPS_PORT if parts.scheme == "https" else HTTP_PORT
    http = HTTPConnection(parts.hostname or "", parts.port or default_port)
    http.default_port = default_port  # the one that the Host field does not name
    with closing(_connect(http.host, http.port, address, deadline)) as connected:
        if parts.scheme == "https":
            connected.settimeout(_seconds_left(deadline))
            # Made for each connection: the operator may renew the store.
            context = ssl.create_default_context()
            connected = context.wrap_socket(connected, server_hostname=http.host)
        with closing(connected):
            http.sock = _BoundedSocket(connected, deadline)
            # The server may refuse a large request before it has read all of it.
            with suppress(BrokenPipeError, ConnectionResetError):
                fields = {"Connection": "close", **(headers or {})}
                query = f"?{parts.query}" if parts.query else ""
                http.request(method, (parts.path or "/") + query, body, fields)
            return _answer(http.getresponse())


def _answer(response: HTTPResponse) -> Answer:
    # In parts, because http.client allocates as much as it is told to read.
    body = b"".join(iter(partial(response.read, _PART_BYTES), b""))
    if response.length:
        raise IncompleteRead(body, response.length)
    return Answer(response.status, response.headers, body)


def _seconds_left(deadline: float) -> float:
    # For a socket, 0 would mean not to wait.
    return max(deadline - time.monotonic(), 0.001)


def _connect(
    host: str, port: int, address: SocketAddress | None, deadline: float
) -> socket.socket:
    """Connect to the first address that accepts; each gets a share of the time."""
    if address:
        found = [address]
    else:
        looked_up = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found = [(family, address) for family, *_, address in looked_up]
    for others in reversed(range(len(found))):
        family, address = found[-1 - others]
        connecting = socket.socket(family, socket.SOCK_STREAM)
        connecting.settimeout(_seconds_left(deadline) / (others + 1))
        try:
            connecting.connect(address)
            return connecting
        except OSError:
            connecting.close()
            if not others:
                raise
    raise OSError("the name has no address")


class _BoundedSocket(io.RawIOBase):
    """A socket, and the file of what it receives, as http.client uses them."""

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket = connected
        self._deadline = deadline
        self._room = MAX_RECEIVED_BYTES

    def sendall(self, data: bytes) -> None:
        while data:
            self._socket.settimeout(_seconds_left(self._deadline))
            data = data[self._socket.send(data) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._room:
            raise AnswerTooLarge
        self._socket.settimeout(_seconds_left(self._deadline))
        count = self._socket.recv_into(buffer, min(len(buffer), self._room))
        self._room -= count
        return count

    def close(self) -> None:
        """Do nothing: http.client closes a connection before it reads the answer."""


class NoFreeSlot(Exception):
    """Too much work is running, or the system allows no more threads."""


class Slots:
    """Limits how many threads work at once. A slot is in use until its thread ends."""

    def __init__(self, count: int) -> None:
        self._free = BoundedSemaphore(count)

    @property
    def free(self) -> int:
        return self._free._value

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """Return what the work returns, or raise what it raises.

        Raise `TimeoutError` if that takes longer, and `NoFreeSlot` if it cannot begin.
        """
        if not self._free.acquire(blocking=False):
            raise NoFreeSlot
        ended: Future[T] = Future()

        def work_and_end() -> None:
            try:
                end = partial(ended.set_result, work())
            except BaseException as error:  # raised in the caller's thread
                end = partial(ended.set_exception, error)
            # Before the result is set: the caller may then start again at once.
            self._free.release()
            end()

        try:
            # A daemon, so that a process can stop while the look-up of a name hangs.
            Thread(target=work_and_end, daemon=True).start()
        except BaseException as error:
            self._free.release()
            raise NoFreeSlot if isinstance(error, RuntimeError) else error from None
        return ended.result(seconds)
