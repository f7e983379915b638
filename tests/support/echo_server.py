"""Our HTTP protocol with a minimal handler that echoes the request body.

GET and HEAD return a short text; any other method returns the body that it received.
HTTP conformance suites expect such a server, and learn nothing from an API that answers
404. `python -m tests.support.echo_server PORT` starts one for them.
"""

import asyncio
import logging
import signal
import sys
import time
from contextlib import suppress
from email.utils import formatdate
from functools import partial
from typing import NamedTuple

import uvloop

from readback.api.endpoints.replies import Replies
from readback.http.connection import Connection
from readback.http.head import Head
from readback.http.meaning import Understood
from readback.http.recognition import RecognisedHeads
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
    unfinished_bytes=1024 * 1024 * 1024,
    head_seconds=10,
    body_seconds=10,
    idle_seconds=60,
    drain_seconds=10,
)


class EchoInfo(NamedTuple):
    method: bytes
    target: bytes
    media_type: bytes


class Echo:
    """The handler; it counts its answers for the tests."""

    def __init__(self) -> None:
        self.answered = 0
        self.replies = Replies()
        self.replies.tick(time.time())

    def describe(self, head: Head) -> EchoInfo:
        return EchoInfo(head.method, head.target, _media_type_of(head))

    def begin(
        self, request: Understood[EchoInfo], connection: Connection
    ) -> "EchoExchange | bytes":
        meaning, *_ = request
        info = meaning.info
        if info.method == b"CONNECT":
            return NO_TUNNEL
        return EchoExchange(self, info)

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        return self.replies.refusal(code, detail)

    def fail(self, error: Exception, info: object) -> bytes:
        request_id = self.replies.new_id()
        log.error("internal error, %s: %s", request_id, describe_error(error))
        return self.replies.refusal("internal_error", request_id=request_id)


class EchoExchange:
    def __init__(self, echo: Echo, info: EchoInfo) -> None:
        self._echo = echo
        self._greets = info.method in (b"GET", b"HEAD")
        self._media_type = b"text/plain" if self._greets else info.media_type

    def answer(self, body: bytes) -> bytes:
        self._echo.answered += 1
        content = GREETING if self._greets else body
        date = formatdate(usegmt=True).encode()
        head = b"HTTP/1.1 200 OK\r\nDate: %b\r\nContent-Type: %b\r\n"
        length = b"Content-Length: %d\r\n\r\n" % len(content)
        return head % (date, self._media_type) + length + content

    def refuse(self, code: str, detail: str, size: int) -> bytes:
        return self._echo.refuse(code, detail)


def _media_type_of(head: Head) -> bytes:
    sent = head.first(b"content-type") or b""
    return sent if sent.isascii() and sent else b"text/plain"


def recognising(handler: Echo, limits: Limits) -> ConnectionRegistry:
    """Return a registry that recognizes the heads of all requests."""
    heads = RecognisedHeads(
        handler.describe,
        limits.head_fields,
        frozenset([b"content-type"]),
        lambda _: False,
    )
    return ConnectionRegistry(handler, limits, heads=heads)


async def serve(port: int) -> None:
    """Run until SIGTERM."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    registry = recognising(Echo(), PATIENT)
    server = await loop.create_server(partial(Connection, registry), HOST, port)
    print(f"http://{HOST}:{server.sockets[0].getsockname()[1]}/", flush=True)
    await sweep_until(stopped, registry, every=0.1)
    server.close()
    await registry.stop(notice=0.25, seconds=1)


async def sweep_until(
    stopped: asyncio.Event, registry: ConnectionRegistry, every: float
) -> None:
    """Apply the connections' deadlines periodically until stopped."""
    while not stopped.is_set():
        registry.sweep(time.monotonic())
        with suppress(TimeoutError):
            async with asyncio.timeout(every):
                await stopped.wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
