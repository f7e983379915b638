"""Our protocol with the barest of handlers: what comes in goes out.

GET and HEAD give a small text, any other method gives the body back. HTTP suites
from elsewhere assume such a server and mean nothing against an API that answers 404:
`python -m tests.support.echo_server PORT` starts one for them. Nothing here knows keys,
models or the contract's limits on a body.
"""

import asyncio
import signal
import sys
import time
from email.utils import formatdate
from functools import partial

import uvloop

from readback.api.endpoints.replies import Replies
from readback.api.http.connection import Connection
from readback.api.http.head import Head
from readback.api.http.registry import ConnectionRegistry, Limits

HOST = "127.0.0.1"
MAX_BODY = 1024 * 1024
GREETING = b"hello\n"
NO_TUNNEL = b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n"
PATIENT = Limits(
    connections=10_000,
    connections_per_address=0,
    head_seconds=10,
    body_seconds=10,
    idle_seconds=60,
    drain_seconds=10,
)


class Echo:
    """The handler. It counts what it answers, so that a test can tell."""

    def __init__(self) -> None:
        self.answered = 0
        self.replies = Replies()
        self.replies.tick(time.time())

    def begin(
        self, head: Head, key: bytes, connection: Connection
    ) -> "EchoExchange | bytes":
        if head.method == b"CONNECT":
            return NO_TUNNEL
        return EchoExchange(self, head)

    def refuse(self, code: str, detail: str) -> bytes:
        return self.replies.refusal(code, detail)


class EchoExchange:
    """One request, or one that is repeated with the same head."""

    max_body = MAX_BODY
    opening = b""

    def __init__(self, echo: Echo, head: Head) -> None:
        self._echo = echo
        self._greets = head.method in (b"GET", b"HEAD")
        self._kind = b"text/plain" if self._greets else _kind_of(head)

    def answer(self, body: bytes) -> bytes:
        self._echo.answered += 1
        said = GREETING if self._greets else body
        date = formatdate(usegmt=True).encode()
        form = b"HTTP/1.1 200 OK\r\nDate: %b\r\nContent-Type: %b\r\n"
        length = b"Content-Length: %d\r\n\r\n" % len(said)
        return form % (date, self._kind) + length + said

    def repeat(self, data: bytes, start: int) -> bytes:
        return self.answer(data[start:])

    def refuse(self, code: str, detail: str) -> bytes:
        return self._echo.refuse(code, detail)


def _kind_of(head: Head) -> bytes:
    kind = head.first(b"content-type") or b""
    return kind if kind.isascii() and kind else b"text/plain"


async def serve(port: int) -> None:
    """Serve until SIGTERM."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    board = ConnectionRegistry(PATIENT)
    server = await loop.create_server(partial(Connection, Echo(), board), HOST, port)
    print(f"http://{HOST}:{server.sockets[0].getsockname()[1]}/", flush=True)
    while not stopped.is_set():
        board.sweep(time.monotonic())
        try:
            async with asyncio.timeout(0.1):
                await stopped.wait()
        except TimeoutError:
            continue
    server.close()
    await board.stop(1)


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
