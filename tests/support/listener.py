"""A listener in this process: our protocol with any handler, on a real event loop.

The loop runs in its own thread, so a test can use blocking sockets like any client, and
still look inside. Deadlines can be short, because they are checked every 20 ms; with
`own_time`, time passes only when the test says so.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import uvloop

from readback.api.data.journal import Journal
from readback.api.data.keyring import Keyring
from readback.api.data.unmatched import UnmatchedRequests
from readback.api.endpoints.exchange import Services
from readback.api.endpoints.replies import Replies
from readback.api.endpoints.routes import Api
from readback.api.shared.limiter import Limiter
from readback.http.connection import Connection
from readback.http.handler import Handler
from readback.http.registry import ConnectionRegistry, Limits
from readback.processes.shared_counters import WorkerCounters
from tests.support.echo_server import HOST, PATIENT, Echo, recognising, sweep_until
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Connection as Client
from tests.support.wire import Endpoint

TICK_SECONDS = 0.02


@dataclass
class Listener:
    """A running listener, and its parts."""

    endpoint: Endpoint
    handler: Handler
    registry: ConnectionRegistry
    loop: asyncio.AbstractEventLoop
    loop_errors: list[str] = field(default_factory=list)
    """What the loop's exception handler received; it must stay empty."""
    received: int = 0
    """The bytes that all connections have read so far."""

    def read_from(self, client: Client, data: bytes) -> None:
        """Send data for a client; return once the server has read all of it."""
        expected = self.received + len(data)
        client.send(data)
        wait_until(lambda: self.received >= expected, "the server has read it")

    def pass_time(self, seconds: float) -> None:
        """Advance the clock of a listener with `own_time`."""

        async def sweep() -> None:
            now = self.registry.now + seconds
            # A sweep compares deadlines with the time of the previous sweep.
            for _ in range(2):
                self.registry.sweep(now)
                await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(sweep(), self.loop).result(PATIENCE)


def api_without_database(
    keyring: Keyring, limiter: Limiter, counters: WorkerCounters
) -> Api:
    """Return the real API; its key lookups are never answered."""
    services = Services(Replies(), limiter, Journal(counters), UnmatchedRequests())
    return Api(services, keyring, counters, 0)


def limits(**changed: float) -> Limits:
    return replace(PATIENT, **changed)


class _Counted(Connection):
    """A connection that counts the bytes it receives."""

    __slots__ = ("listener",)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.listener.received += len(data)


@contextmanager
def listening(
    handler: Handler | None = None, limits: Limits = PATIENT, *, own_time: bool = False
) -> Iterator[Listener]:
    """Listen on a free port of 127.0.0.1; fail if the loop reports an error.

    With `own_time`, only `pass_time` moves the clock.
    """
    handler = handler or Echo()
    ready: list[Listener] = []
    started = threading.Event()
    stopped = asyncio.Event()

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        if isinstance(handler, Echo):
            registry = recognising(handler, limits)
        else:
            registry = ConnectionRegistry(handler, limits)

        def connection() -> Connection:
            made = _Counted(registry)
            made.listener = listener
            return made

        server = await loop.create_server(connection, HOST, 0)
        port = server.sockets[0].getsockname()[1]
        listener = Listener(Endpoint(HOST, port), handler, registry, loop)
        loop.set_exception_handler(
            lambda _, context: listener.loop_errors.append(str(context))
        )
        ready.append(listener)
        started.set()
        if own_time:
            await stopped.wait()
        else:
            await sweep_until(stopped, registry, every=TICK_SECONDS)
        server.close()
        for call in tuple(registry.connections):
            call.abort()
        await asyncio.sleep(0)

    thread = threading.Thread(target=uvloop.run, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(PATIENCE)
    [listener] = ready
    try:
        yield listener
    finally:
        listener.loop.call_soon_threadsafe(stopped.set)
        thread.join(PATIENCE)
    assert not thread.is_alive()
    assert listener.loop_errors == []
