"""The gunicorn worker: one process, one event loop, all listeners.

Assembles the data plane, calls its periodic work, and stops it in the right order.
gunicorn is the supervisor: it forks, restarts and signals.
"""

import asyncio
import gc
import os
import signal
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, cast

import uvloop
from gunicorn import sock
from gunicorn.workers.base import Worker

from readback.api.data.clerk import Clerk
from readback.api.data.health import Health
from readback.api.data.journal import Journal
from readback.api.data.keyring import Keyring
from readback.api.data.store import Store
from readback.api.endpoints.exchange import Services
from readback.api.endpoints.replies import Replies
from readback.api.endpoints.routes import Api
from readback.api.http.connection import Connection
from readback.api.http.registry import SWEEP_SECONDS, ConnectionRegistry, Limits
from readback.api.ops import Ops
from readback.api.shared.counters import WorkerCounters
from readback.api.shared.memory import SharedMemory
from readback.config import Config
from readback.contract import MAX_BODY_BYTES, MAX_HEAD_BYTES, MAX_HEAD_FIELDS

BACKLOG = 2048


class Application(Protocol):
    """What a worker needs of the application that gunicorn passes to it."""

    config: Config
    shared: SharedMemory


class ApiWorker(Worker):
    """Serves the API on all sockets except the last, which is the ops listener."""

    # The worker's row in the shared counters, set by the `pre_fork` hook.
    counters_row = 0

    def init_signals(self) -> None:
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        # Until the event loop runs and takes them over.
        signal.signal(signal.SIGTERM, self.handle_exit)
        signal.signal(signal.SIGQUIT, self.handle_quit)
        signal.signal(signal.SIGINT, self.handle_quit)
        signal.signal(signal.SIGABRT, self.handle_abort)

    def load_wsgi(self) -> None:
        """Assemble the data plane, where gunicorn would load a WSGI application.

        An error here stops the start with one message; later, gunicorn would replace
        one failing worker after the other.
        """
        application = cast(Application, self.app)
        self.config = application.config
        self.shared = application.shared
        self._build()

    def run(self) -> None:
        uvloop.run(self._serve())

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, self._stopping.set)
        self._clerk.start(loop, self._keyring, self._journal)
        self._tick()  # so that the first answer has a date
        servers = [await self._listen(listener) for listener in self.sockets]
        # These objects live as long as the process, so the collector can ignore them.
        gc.collect()
        gc.freeze()
        await self._until_stopped()
        # First: once the listeners close, no answer may promise to keep its connection.
        self._api_connections.retire()
        await self._tick_during(
            asyncio.gather(
                *map(self._close, self.sockets, servers),
                self._api_connections.stop(self.config.stop_timeout),
                self._ops_connections.stop(1),
            )
        )
        await self._clerk.stop()
        self._report()
        self._counters.retire()

    def _build(self) -> None:
        config, shared = self.config, self.shared
        self._counters: WorkerCounters = shared.counters.row(self.counters_row)
        self._counters.set("alive", 1)
        shared.key_rates.join(self.counters_row)
        self._replies = Replies(
            f"{config.effective_cabinet_url}/docs/errors", config.error_messages
        )
        self._journal = Journal(self._counters)
        health = Health(self._counters)
        self._clerk = Clerk(Store(config), health, self._counters)
        self._keyring = Keyring(
            shared.key_rates, self._clerk.look_up, config.database_grace
        )
        services = Services(self._replies, shared.key_rates, self._journal)
        api = Api(
            services,
            self._keyring,
            shared.failure_rates,
            self._counters,
            config.trusted_proxy_count,
        )
        ops = Ops(shared.counters, health, self._keyring)
        self._api_connections = ConnectionRegistry(api, limits(config))
        self._ops_connections = ConnectionRegistry(ops, limits(config))

    async def _listen(self, listener: Any) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            self._connections(listener),
            sock=listener.sock,
            backlog=BACKLOG,
            ssl=self._tls(listener),
        )

    async def _close(self, listener: Any, server: asyncio.Server) -> None:
        """Stop listening, but serve the connections that the kernel has accepted.

        Their clients may have sent a request already; closing would reset them without
        an answer.
        """
        waiting = _accept_all(listener.sock)
        server.close()
        for client in waiting:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._connections(listener), client, ssl=self._tls(listener)
            )

    def _connections(self, listener: Any) -> Callable[[], Connection]:
        if listener is self.sockets[-1]:
            return partial(Connection, self._ops_connections)
        return partial(Connection, self._api_connections)

    def _tls(self, listener: Any) -> ssl.SSLContext | None:
        if not self.cfg.is_ssl or listener is self.sockets[-1]:
            return None
        context: ssl.SSLContext = sock.ssl_context(self.cfg)
        return context

    async def _until_stopped(self) -> None:
        """Call the periodic work until a signal arrives or the master is gone."""
        while not self._stopping.is_set() and os.getppid() == self.ppid:
            self._tick()
            try:
                async with asyncio.timeout(SWEEP_SECONDS):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def _tick_during(self, stop: asyncio.Future[Any]) -> None:
        """Call the periodic work while connections end, which may take long.

        The first time at once: another replica may be asked about the same keys now.
        """
        while not stop.done():
            self._tick()
            await asyncio.wait([stop], timeout=SWEEP_SECONDS)
        await stop

    def _tick(self) -> None:
        now, wall = time.monotonic(), time.time()
        self.notify()
        self._replies.tick(wall)
        self.shared.key_rates.tick(now, wall)
        self._api_connections.sweep(now)
        self._ops_connections.sweep(now)
        self._clerk.begin_round(self._keyring.tick(now, wall), now, wall)
        self._report()

    def _report(self) -> None:
        counters = self._counters
        counters.add("connections", self._api_connections.take_accepted())
        counters.set("open_connections", len(self._api_connections.connections))
        counters.set("known_keys", len(self._keyring))
        counters.set("waiting_keys", self._keyring.waiting)
        counters.set("pending_rows", self._clerk.pending_rows)


def _accept_all(listener: socket.socket) -> list[socket.socket]:
    """Return the connections in the kernel's accept queue; there may be none."""
    accepted: list[socket.socket] = []
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            client.setblocking(False)
            accepted.append(client)
    return accepted


def limits(config: Config) -> Limits:
    behind_proxy = config.trusted_proxy_count > 0
    per_address = 0 if behind_proxy else config.max_connections_per_address
    return Limits(
        connections=config.max_connections,
        connections_per_address=per_address,
        head_bytes=MAX_HEAD_BYTES,
        head_fields=MAX_HEAD_FIELDS,
        dropped_body_bytes=MAX_BODY_BYTES,
        head_seconds=config.head_timeout,
        body_seconds=config.body_timeout,
        idle_seconds=config.idle_timeout,
        drain_seconds=config.drain_timeout,
    )
