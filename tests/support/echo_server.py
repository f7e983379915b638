"""Our HTTP protocol with a minimal handler that echoes the request body.

GET and HEAD return a short text, any other method returns the body it received. HTTP
conformance suites expect such a server and are of no use against an API that answers
404; `python -m tests.support.echo_server PORT` starts one for them. Nothing here
depends on keys, models or the contract's limit for a body.
"""

import asyncio
import logging
import signal
import sys
import time
from contextlib import suppress
from email.utils import formatdate
from functools import partial

import uvloop

from readback.api.endpoints.replies import Replies
from readback.http.connection import Connection
from readback.http.head import Head
from readback.http.registry import ConnectionRegistry, Limits
from readback.logs import describe_error

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
GREETING = b"hello\n"
NO_TUNNEL = b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n"
PATIENT = Limits(
    connections=10_000,
    connections_per_address=0,
    head_bytes=16_384,
    head_fields=100,
    body_bytes=1024 * 1024,
    head_seconds=10,
    body_seconds=10,
    idle_seconds=60,
    drain_seconds=10,
)


class Echo:
    """The handler; it counts its answers for the tests."""

    def __init__(self) -> None:
        self.answered = 0
        self._known: EchoExchange | None = None
        self.replies = Replies()
        self.replies.tick(time.time())

    read_fields = frozenset([b"content-type"])

    def describe(self, head: Head) -> Head:
        return head

    def contains_secret(self, data: bytes) -> bool:
        return False

    def find(
        self, kind: Head, key: bytes, forwarded: bytes, connection: Connection
    ) -> "EchoExchange | None":
        if kind.method == b"CONNECT":
            return None
        # The same for equal heads, as in the API: connections remember what answers a
        # client that repeats its head.
        if self._known is None or self._known.head is not kind:
            self._known = EchoExchange(self, kind)
        return self._known

    def begin(
        self,
        head: Head,
        kind: Head,
        key: bytes,
        forwarded: bytes,
        size: int,
        connection: Connection,
    ) -> "EchoExchange | bytes":
        if head.method == b"CONNECT":
            return NO_TUNNEL
        return EchoExchange(self, head)

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        return self.replies.refusal(code, detail)

    def fail(self, error: Exception, info: object) -> bytes:
        request_id, answer = self.replies.internal_error()
        log.error("internal error, %s: %s", request_id, describe_error(error))
        return answer


class EchoExchange:
    """One request, or several with the same head."""

    address = ""
    is_refusal = False

    def __init__(self, echo: Echo, head: Head) -> None:
        self._echo, self.head = echo, head
        self._greets = head.method in (b"GET", b"HEAD")
        self._media_type = b"text/plain" if self._greets else _media_type_of(head)

    def answer(self, body: bytes) -> bytes:
        self._echo.answered += 1
        content = GREETING if self._greets else body
        date = formatdate(usegmt=True).encode()
        head = b"HTTP/1.1 200 OK\r\nDate: %b\r\nContent-Type: %b\r\n"
        length = b"Content-Length: %d\r\n\r\n" % len(content)
        return head % (date, self._media_type) + length + content

    def answer_known(self, data: bytes, start: int, end: int) -> bytes:
        return self.answer(data[start:end])

    def refuse(self, code: str, detail: str, size: int) -> bytes:
        return self._echo.refuse(code, detail)

    def fail(self, error: Exception, size: int) -> bytes:
        return self._echo.fail(error, None)


def _media_type_of(head: Head) -> bytes:
    sent = head.first(b"content-type") or b""
    return sent if sent.isascii() and sent else b"text/plain"


async def serve(port: int) -> None:
    """Serve until SIGTERM."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    registry = ConnectionRegistry(Echo(), PATIENT)
    server = await loop.create_server(partial(Connection, registry), HOST, port)
    print(f"http://{HOST}:{server.sockets[0].getsockname()[1]}/", flush=True)
    await sweep_until(stopped, registry, every=0.1)
    server.close()
    await registry.stop(notice=0.25, seconds=1)


async def sweep_until(
    stopped: asyncio.Event, registry: ConnectionRegistry, every: float
) -> None:
    """Apply the deadlines of the connections again and again until stopped."""
    while not stopped.is_set():
        registry.sweep(time.monotonic())
        with suppress(TimeoutError):
            async with asyncio.timeout(every):
                await stopped.wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
