"""A listener in this process: our protocol on a real loop, real sockets, any handler.

The loop runs in a thread of its own, so that a test speaks to it as any client does,
with blocking sockets, and may still look inside. Time passes for the connections
every few milliseconds, so limits can be short.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import uvloop

from readback.api.http.connection import Connection
from readback.api.http.handler import Handler
from readback.api.http.registry import ConnectionRegistry, Limits
from tests.support.echo_server import HOST, PATIENT, Echo
from tests.support.wire import Endpoint

T = TypeVar("T")
TICK_SECONDS = 0.02


@dataclass
class Listener:
    """Where it listens, and what stands behind it."""

    endpoint: Endpoint
    handler: Handler
    board: ConnectionRegistry
    loop: asyncio.AbstractEventLoop
    said_by_the_loop: list[str] = field(default_factory=list)
    """What the loop's exception handler was told: nothing, if all is well."""

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run something on the listener's loop and give its result."""

        async def call() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(20)


def limits(**changed: float) -> Limits:
    return replace(PATIENT, **changed)


@contextmanager
def listening(
    handler: Handler | None = None, limits: Limits = PATIENT
) -> Iterator[Listener]:
    """Listen on a free port of the loopback; at the end nothing may be left over."""
    handler = handler or Echo()
    ready: list[Listener] = []
    started, stopped = threading.Event(), asyncio.Event()

    async def serve() -> None:
        loop, board = asyncio.get_running_loop(), ConnectionRegistry(limits)
        server = await loop.create_server(partial(Connection, handler, board), HOST, 0)
        port = server.sockets[0].getsockname()[1]
        listener = Listener(Endpoint(HOST, port), handler, board, loop)
        loop.set_exception_handler(
            lambda _, context: listener.said_by_the_loop.append(str(context))
        )
        ready.append(listener)
        started.set()
        while not stopped.is_set():
            board.sweep(time.monotonic())
            await asyncio.sleep(TICK_SECONDS)
        server.close()
        for call in tuple(board.calls):
            call.abort()
        await asyncio.sleep(0)

    thread = threading.Thread(target=uvloop.run, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(10)
    [listener] = ready
    try:
        yield listener
    finally:
        listener.loop.call_soon_threadsafe(stopped.set)
        thread.join(10)
    assert not thread.is_alive()
    assert listener.said_by_the_loop == []
