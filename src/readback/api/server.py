"""The API server: what its workers share, and what each worker runs.

A worker is one process with one event loop and all listeners. It does the periodic
work of its parts, and stops them in the right order.
"""

import asyncio
import os
import resource
import socket
import time
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Any

from readback import keys, programs
from readback.api.certificate import expiry, log_expiry, tls_context
from readback.api.data.database import Database
from readback.api.data.health import Health
from readback.api.data.journal import Journal
from readback.api.data.keyring import Keyring
from readback.api.data.store import Store
from readback.api.data.unmatched import CAPACITY, UnmatchedRequests
from readback.api.endpoints.exchange import Services
from readback.api.endpoints.replies import Replies
from readback.api.endpoints.request_info import READ_FIELDS
from readback.api.endpoints.routes import Api
from readback.api.ops import Ops
from readback.api.shared.counters import TIMES, TOTAL_TIME, Counters
from readback.api.shared.limiter import Limiter
from readback.client_address import network
from readback.config import Config
from readback.contract import MAX_BODY_BYTES, MAX_HEAD_BYTES, MAX_HEAD_FIELDS
from readback.http.connection import Connection
from readback.http.recognition import RecognisedHeads
from readback.http.registry import ConnectionRegistry, Limits
from readback.http.timing import Timing
from readback.processes import listening
from readback.processes.lifecycle import API, SHORT_NOTICE_SECONDS, Lifecycle
from readback.processes.worker import MOMENT_SECONDS, Server, Worker

# The size of the kernel's buffer per connection and direction; the kernel doubles this
# number. By default, it would buffer several megabytes for a client that pipelines
# requests without reading the answers.
_KERNEL_BUFFER_BYTES = 64 * 1024
# In each iteration, the event loop accepts one connection per descriptor of a listening
# socket. With copies, it reads and answers several requests together, which takes a
# tenth less time per connection.
_COPIES = 3
# How long handshakes that have begun may take when the listeners close. TLS takes one
# more round trip.
_HANDSHAKE_SECONDS = 1.0
_TLS_HANDSHAKE_SECONDS = 2.0
# The maximum total size of incomplete bodies; most bodies arrive in one packet.
_UNFINISHED_BYTES = 64 << 20
# Open files other than connections: about 30, plus refused connections.
_RESERVED_FILES = 96
# How long a worker may write its journal after the stop timeout.
_MARGIN_SECONDS = 10


def api_server(
    config: Config, lifecycle: Lifecycle, listeners: list[socket.socket]
) -> Server:
    """Return the API server. The last listener is for the operator."""
    programs.load()
    limiter = Limiter(config.key_rate, config.key_burst)
    return Server(
        name=API,
        config=config,
        lifecycle=lifecycle,
        listeners=listeners,
        counters=Counters(config.worker_count),
        workers=config.worker_count,
        stop_seconds=config.stop_timeout + _MARGIN_SECONDS,
        make_worker=partial(ApiWorker, limiter),
    )


class ApiWorker(Worker):
    """Serves the API on all sockets except the last, which is the ops listener."""

    def __init__(self, limiter: Limiter, server: Server, row: int) -> None:
        super().__init__(server, row)
        self._limiter = limiter
        *self._api_listeners, self._ops_listener = self.listeners
        self._has_others = server.workers > 1
        if not self._has_others:
            # Only a reload adds another worker, which has the other row.
            other_row = server.counters.row(1 - row)
            limiter.lock_only_beside(other_row.view("workers"))

    def prepare(self) -> None:
        config = self.config
        self.counters.set("workers", 1)
        # A new worker gets as much time to reach the database as one that has lost its
        # connection to it.
        self.counters.set("keys_confirmed", int(time.monotonic() * 1000))
        help_url = f"{config.effective_cabinet_url}/docs/errors"
        self._replies = Replies(help_url, config.error_messages)
        self._health = Health(self.counters)
        self._journal = Journal(self.counters, config.journal_interval)
        capacity = CAPACITY if config.unmatched_requests else 0
        self._unmatched = UnmatchedRequests(capacity)
        self._database = Database(Store(config), self._health, self.counters)
        look_up = self._database.look_up
        self._keyring = Keyring(self._limiter, look_up, config.database_grace)
        self._make_connections()
        certificate = config.tls_certificate
        self._expires = expiry(certificate) if certificate else 0
        self.counters.set("certificate_expires", self._expires)

    def _make_connections(self) -> None:
        config = self.config
        services = Services(
            self._replies,
            self._limiter,
            self._journal,
            self._unmatched,
            self.stopping,
        )
        proxies = config.trusted_proxy_count
        api = Api(services, self._keyring, self.counters, proxies)
        ops = Ops(
            self.all_counters, self._health, self._keyring, self.lifecycle, config
        )
        allowed = limits(config, len(self.listeners))
        heads = RecognisedHeads(
            api.describe, allowed.head_fields, READ_FIELDS, keys.contains_key
        )
        self._api_connections = ConnectionRegistry(
            api, allowed, network, heads, Timing(self._note_time)
        )
        self._ops_connections = ConnectionRegistry(ops, allowed)

    async def listen(self) -> None:
        self._database.start(self._keyring, self._journal, self._unmatched)
        if self._expires and self.is_first:
            log_expiry(self._expires)
        self.tick()  # so that the first answer has a date
        tls = self._tls_options()
        self._servers = [
            await _accept(self._new_connection, descriptor, **tls)
            for listener in self._api_listeners
            for descriptor in (listener, *(listener.dup() for _ in range(_COPIES)))
        ]
        await self._reach_database()
        self._ops_server = await _accept(
            partial(Connection, self._ops_connections), self._ops_listener
        )

    async def stop(self) -> None:
        await self.tick_during(self._end_connections())
        self._report()
        # This worker no longer refreshes its keys; 0 excludes it from the minimum.
        self.counters.set("keys_confirmed", 0)
        await self._database.stop()

    def _tls_options(self) -> dict[str, Any]:
        certificate = self.config.tls_certificate
        key = self.config.tls_key
        if not certificate or not key:
            return {}
        # A TLS handshake may take as long as a head.
        seconds = self.config.head_timeout
        return {"ssl": tls_context(certificate, key), "ssl_handshake_timeout": seconds}

    def _new_connection(self) -> Connection:
        # Otherwise the worker that wakes up first would accept a whole burst.
        if self._has_others:
            os.sched_yield()
        return Connection(self._api_connections)

    async def _reach_database(self) -> None:
        """Wait until this worker has read keys, or knows that it cannot.

        Until then, other workers answer a balancer's checks, and a reload does not stop
        any old worker.
        """
        while not (self._keyring.is_trusted or self._health.reading.error):
            if self.stopping.is_set():
                break
            await asyncio.sleep(MOMENT_SECONDS)

    async def _end_connections(self) -> None:
        await self.end_connections(
            self._api_connections, self._api_listeners, self._servers
        )
        # Last, because a balancer that gets no answer here would abort the requests in
        # progress.
        self._ops_server.close()
        await self._ops_connections.stop(SHORT_NOTICE_SECONDS, 1)

    def handshake_seconds(self) -> float:
        if self.lifecycle.is_hurried:
            return MOMENT_SECONDS
        if self.config.tls_certificate:
            return _TLS_HANDSHAKE_SECONDS
        # Count the connections of all workers, because closing a listener closes it for
        # all of them.
        busy = self.all_counters.total("open_connections")
        return _HANDSHAKE_SECONDS if busy else MOMENT_SECONDS

    def tick(self) -> None:
        """Do the periodic work; a step that fails does not prevent the others."""
        now = time.monotonic()
        wall = time.time()
        steps: list[Callable[[], object]] = [
            lambda: self._replies.tick(wall),
            lambda: self._api_connections.sweep(now),
            lambda: self._ops_connections.sweep(now),
            lambda: self._database.tick(self._keyring.tick(now, wall), now, wall),
            self._report,
        ]
        for step in steps:
            try:
                step()
            except Exception as error:
                self._health.note_unexpected(error)

    def _note_time(self, milliseconds: int) -> None:
        self.counters.add(TIMES[bisect_left(TIMES, milliseconds)])
        self.counters.add(TOTAL_TIME, milliseconds)

    def _report(self) -> None:
        counters = self.counters
        accepted, refused = self._api_connections.take_counts()
        counters.add("connections", accepted)
        counters.add("connections_refused", refused)
        counters.set("open_connections", len(self._api_connections.connections))
        counters.set("max_open_connections", self._api_connections.limits.connections)
        counters.set("known_keys", len(self._keyring))
        counters.set("waiting_keys", self._keyring.waiting)
        counters.set("pending_rows", self._database.pending_rows)
        if (confirmed_at := self._keyring.confirmed_at) > 0:
            counters.set("keys_confirmed", int(confirmed_at * 1000))


async def _accept(
    connection: Callable[[], Connection], listener: socket.socket, **options: Any
) -> asyncio.Server:
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):  # connections inherit these
        listener.setsockopt(socket.SOL_SOCKET, option, _KERNEL_BUFFER_BYTES)
    return await asyncio.get_running_loop().create_server(
        connection, sock=listener, backlog=listening.BACKLOG, **options
    )


def limits(config: Config, listeners: int = 1) -> Limits:
    """Return the limits, with fewer connections if the open-file limit requires it."""
    most = config.max_connections
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY:
        room = files - _RESERVED_FILES - listeners
        most = max(1, min(most, room))
    behind_proxy = config.trusted_proxy_count > 0
    per_address = 0 if behind_proxy else config.max_connections_per_address
    return Limits(
        connections=most,
        connections_per_address=per_address,
        head_bytes=MAX_HEAD_BYTES,
        head_fields=MAX_HEAD_FIELDS,
        body_bytes=MAX_BODY_BYTES,
        unfinished_bytes=_UNFINISHED_BYTES,
        head_seconds=config.head_timeout,
        body_seconds=config.body_timeout,
        idle_seconds=config.idle_timeout,
        drain_seconds=config.drain_timeout,
    )
