"""HTTP requests of the cabinet and of the commands, bounded in time and in size.

The timeout of a socket starts again with every byte, so a `BoundedConnection` has one
deadline for all of them. Nothing bounds the look-up of a name; where a name may hang,
`Slots` has a thread wait for it.
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
    IncompleteRead,
)
from threading import BoundedSemaphore, Thread
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

# Of one answer, with its head.
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

    Raise OSError, HTTPException or ValueError if there is no answer in HTTP in time.
    """
    parts = urlsplit(url)
    connection = BoundedConnection(
        parts.hostname or "",
        parts.port,
        timeout=seconds,
        is_tls=parts.scheme == "https",
        address=address,
    )
    with closing(connection):
        connection.connect()
        # The server may refuse a large request before it has read all of it.
        with suppress(BrokenPipeError, ConnectionResetError):
            fields = {"Connection": "close", **(headers or {})}
            connection.request(method, parts.path, body, fields)
        with connection.getresponse() as response:
            # In parts: http.client makes room for as much as it is told to read.
            content = b"".join(iter(partial(response.read, _PART_BYTES), b""))
            if response.length:
                raise IncompleteRead(content, response.length)
            return Answer(response.status, response.headers, content)


class BoundedConnection(HTTPConnection):
    """A connection for one request, which has to end in time.

    It goes to the address, if there is one, whatever the host is.
    """

    def __init__(
        self,
        host: str,
        port: int | None = None,
        *,
        timeout: float,
        is_tls: bool = False,
        address: SocketAddress | None = None,
    ) -> None:
        self.default_port = HTTPS_PORT if is_tls else HTTP_PORT
        super().__init__(host, port)
        self._deadline = time.monotonic() + timeout
        self._is_tls = is_tls
        self._address = address

    @property
    def seconds_left(self) -> float:
        # For a socket, 0 would mean not to wait.
        return max(self._deadline - time.monotonic(), 0.001)

    def connect(self) -> None:
        connected = self._connected()
        self.sock = _BoundedSocket(connected, self)
        if self._is_tls:
            # Made for each connection: the operator may renew the store.
            context = ssl.create_default_context()
            connected.settimeout(self.seconds_left)
            encrypted = context.wrap_socket(connected, server_hostname=self.host)
            self.sock = _BoundedSocket(encrypted, self)

    def _connected(self) -> socket.socket:
        """Connect to the first address that accepts; each gets a share of the time."""
        if self._address:
            found = [self._address]
        else:
            looked_up = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM
            )
            found = [(family, address) for family, *_, address in looked_up]
        for number, (family, address) in enumerate(found, 1):
            connecting = socket.socket(family, socket.SOCK_STREAM)
            connecting.settimeout(self.seconds_left / (len(found) + 1 - number))
            try:
                connecting.connect(address)
                return connecting
            except OSError:
                connecting.close()
                if number == len(found):
                    raise
        raise OSError("the name has no address")


class _BoundedSocket:
    """What http.client needs of a socket, until the deadline of its connection."""

    def __init__(self, connected: socket.socket, owner: BoundedConnection) -> None:
        self._socket = connected
        self._owner = owner
        self._room = MAX_RECEIVED_BYTES
        self._users = 1

    def sendall(self, data: bytes) -> None:
        while data:
            self._socket.settimeout(self._owner.seconds_left)
            data = data[self._socket.send(data) :]

    def receive_into(self, buffer: memoryview) -> int:
        if not self._room:
            raise AnswerTooLarge
        self._socket.settimeout(self._owner.seconds_left)
        count = self._socket.recv_into(buffer, min(len(buffer), self._room))
        self._room -= count
        return count

    def makefile(self, mode: str) -> io.BufferedReader:
        self._users += 1
        return io.BufferedReader(_ReceivedBytes(self))

    def close(self) -> None:
        """Close it when the file is closed, too: http.client closes before it reads."""
        self._users -= 1
        if not self._users:
            self._socket.close()


class _ReceivedBytes(io.RawIOBase):
    def __init__(self, bounded: _BoundedSocket) -> None:
        self._bounded = bounded

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._bounded.receive_into(buffer)

    def close(self) -> None:
        if not self.closed:
            self._bounded.close()
        super().close()


class NoFreeSlot(Exception):
    """Too much work is running, or the system allows no more threads."""


class Slots:
    """How many threads may work at once. A slot is in use until its thread ends."""

    def __init__(self, count: int) -> None:
        self._free = BoundedSemaphore(count)

    @property
    def free(self) -> int:
        return self._free._value

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """Return what the work returns, or raise what it raises.

        Raise `TimeoutError` if that takes longer, and `NoFreeSlot` if it cannot begin.
        """
        return self.start(work).result(seconds)

    def start(self, work: Callable[[], T]) -> Future[T]:
        """Begin the work, and return what will have its result."""
        ended: Future[T] = Future()
        if not self._free.acquire(blocking=False):
            ended.set_exception(NoFreeSlot())
            return ended
        try:
            # A daemon, so that a process can stop while the look-up of a name hangs.
            Thread(target=self._work, args=(work, ended), daemon=True).start()
        except BaseException as error:
            self._free.release()
            if not isinstance(error, RuntimeError):
                raise
            ended.set_exception(NoFreeSlot())  # no more threads
        return ended

    def _work(self, work: Callable[[], T], ended: Future[T]) -> None:
        try:
            end = partial(ended.set_result, work())
        except BaseException as error:  # raised in the caller's thread
            end = partial(ended.set_exception, error)
        # First: a caller that has the result may begin again.
        self._free.release()
        end()
