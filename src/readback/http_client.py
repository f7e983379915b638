"""HTTP requests from the cabinet and the commands, limited in time and size.

A name lookup has no timeout. Where that matters, `Slots` limits how long to wait for a
request.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import closing, suppress
from email.message import Message
from functools import partial
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPSConnection,
    IncompleteRead,
)
from socket import SHUT_RDWR, socket
from threading import BoundedSemaphore, Thread, Timer
from time import monotonic
from typing import NamedTuple, TypeVar
from urllib.parse import SplitResult, urlsplit

# The maximum size of an answer's body; http.client limits the head.
MAX_RECEIVED_BYTES = 65_536
# What `send` raises.
ERRORS = (OSError, HTTPException, ValueError)

T = TypeVar("T")


class AnswerTooLarge(HTTPException):
    """The answer has more than MAX_RECEIVED_BYTES."""


class Answer(NamedTuple):
    status: int
    headers: Message
    body: bytes


def send(
    method: str,
    url: str,
    seconds: float,
    *,
    headers: Mapping[str, str | bytes] | None = None,
    body: bytes | None = None,
) -> Answer:
    """Send a request, using no proxy and following no redirects; return the answer.

    Raise one of ERRORS unless a complete HTTP answer arrives within this time after the
    connection was established.
    """
    parts = urlsplit(url)
    connection = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    port = parts.port or connection.default_port
    # Half of the time for each address, because the name may resolve to two.
    http = connection(parts.hostname or "", port, timeout=seconds / 2)
    with closing(http):
        http.connect()
        http.sock.settimeout(seconds)
        # The socket's timeout restarts with every byte that the server sends.
        deadline = monotonic() + seconds
        end = Timer(seconds, _shut_down, [http.sock])
        end.start()
        try:
            return _exchange(http, method, parts, headers or {}, body)
        finally:
            end.cancel()
            if monotonic() >= deadline:  # a truncated answer may look complete
                raise TimeoutError("timed out")


def _shut_down(connection: socket) -> None:
    with suppress(OSError):  # the server has just closed it
        connection.shutdown(SHUT_RDWR)


def _exchange(
    http: HTTPConnection,
    method: str,
    url: SplitResult,
    headers: Mapping[str, str | bytes],
    body: bytes | None,
) -> Answer:
    # The server may refuse a large request before it has read all of it.
    with suppress(BrokenPipeError, ConnectionResetError):
        query = f"?{url.query}" if url.query else ""
        fields = {"Connection": "close", **headers}
        http.request(method, (url.path or "/") + query, body, fields)
    with http.getresponse() as response:
        received = response.read(MAX_RECEIVED_BYTES + 1)
        if len(received) > MAX_RECEIVED_BYTES:
            raise AnswerTooLarge("the answer is too large")
        if response.length:
            raise IncompleteRead(received, response.length)
        return Answer(response.status, response.headers, received)


class NoFreeSlot(Exception):
    """Too much work is running, or the system allows no more threads."""


class Slots:
    """Limits how many threads work at once. A slot is in use until its thread ends."""

    def __init__(self, count: int) -> None:
        self._free = BoundedSemaphore(count)

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """Return what the work returns, or raise what it raises.

        Raise `TimeoutError` after this time, and `NoFreeSlot` if the work cannot begin.
        """
        if not self._free.acquire(blocking=False):
            raise NoFreeSlot
        ended: Future[T] = Future()

        def work_and_end() -> None:
            try:
                end = partial(ended.set_result, work())
            except BaseException as error:  # raised in the caller's thread
                end = partial(ended.set_exception, error)
            # Release the slot before setting the result, because the caller may start
            # its next request at once.
            self._free.release()
            end()

        try:
            # A daemon thread, so that a process can stop while a name lookup hangs.
            Thread(target=work_and_end, daemon=True).start()
        except RuntimeError:
            self._free.release()
            raise NoFreeSlot from None
        return ended.result(seconds)
