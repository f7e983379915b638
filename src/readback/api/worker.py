"""The gunicorn worker: one process, one event loop, all listeners.

Assembles the data plane, calls its periodic work, and stops it in the right order.
gunicorn is the supervisor: it forks, restarts and signals.
"""

import asyncio
import gc
import resource
import socket
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar, cast

import uvloop

from readback import keys
from readback.api.accepting import Accept, Accepting
from readback.api.certificate import expiry, log_expiry, tls_context
from readback.api.data.database import Database
from readback.api.data.health import Health
from readback.api.data.journal import ROUND_SECONDS, Journal
from readback.api.data.keyring import Keyring
from readback.api.data.store import Store
from readback.api.data.unmatched import CAPACITY, UnmatchedRequests
from readback.api.endpoints.exchange import Services
from readback.api.endpoints.replies import Replies
from readback.api.endpoints.request_info import READ_FIELDS
from readback.api.endpoints.routes import Api
from readback.api.ops import Ops
from readback.api.shared.memory import SharedMemory
from readback.client_address import network
from readback.config import Config
from readback.contract import MAX_BODY_BYTES, MAX_HEAD_BYTES, MAX_HEAD_FIELDS
from readback.http.connection import Connection
from readback.http.recognition import RecognisedHeads
from readback.http.registry import ConnectionRegistry, Limits
from readback.processes import listening
from readback.processes.lifecycle import SHORT_NOTICE_SECONDS
from readback.processes.plane import PlaneWorker
from readback.processes.shared_counters import WorkerCounters

Result = TypeVar("Result")

# What the kernel keeps per connection and direction; it doubles the number for its own
# needs. The largest request and the largest answer fit. Without this, it takes several
# megabytes from a client that pipelines and does not read, and we answer all of it.
_KERNEL_BUFFER_BYTES = 64 * 1024
# How long the handshakes that have begun may take once the listeners accept no more:
# of TCP on the longest path, and of TLS, which takes another round trip. If there has
# been no client at all, a new one is not waited for.
_HANDSHAKE_SECONDS = 1.0
_TLS_HANDSHAKE_SECONDS = 2.0
_MOMENT_SECONDS = 0.05
_SLOW_LOOK_UP_SECONDS = 0.25
# Of all bodies that are arriving. No usual client sends one in several packets.
_UNFINISHED_BYTES = 64 << 20
# Of the files that a worker may open, those that are not for connections: about 30, and
# perhaps a copy of each listening socket to accept from, and some for connections that
# are being refused. Otherwise a worker without free descriptors could not even say what
# is wrong with it.
_RESERVED_FILES = 96
_FILES_PER_LISTENER = 2


class ApiWorker(PlaneWorker):
    """Serves the API on all sockets except the last, which is the ops listener."""

    # Set by the `pre_fork` hook.
    place = 0

    def load_wsgi(self) -> None:
        """Assemble the data plane, where gunicorn would load a WSGI application.

        An error here stops the start with one message; later, gunicorn would replace
        one failing worker after the other.
        """
        super().load_wsgi()
        self._shared: SharedMemory = cast(Any, self.app).shared
        self._build()

    def run(self) -> None:
        uvloop.run(self._serve())

    async def _serve(self) -> None:
        self._handle_sigterm()
        self._database.start(self._keyring, self._journal, self._unmatched)
        self._tick()  # so that the first answer has a date
        if self._expires and self.place == 0:  # one of the workers is enough
            log_expiry(self._expires)
        *listeners, ops_listener = self._listeners
        self._accepting = Accepting(
            listeners, self.place, self._shared.places, self._accept_api()
        )
        await self._accepting.update()
        ops_server = await self._tick_during(self._accept_ops(ops_listener))
        # These objects live as long as the process, so the collector can ignore them.
        gc.collect()
        gc.freeze()
        await self._tick_during(self._stopping.wait())
        await self._tick_during(self._stop(ops_server))
        self._report()
        # From now on it refreshes no keys, which is no reason to distrust the others.
        self._counters.set("keys_confirmed", 0)
        await self._database.stop()

    def _build(self) -> None:
        config, shared = self._config, self._shared
        self._counters: WorkerCounters = shared.counters.row(self.counters_row)
        self._counters.set("workers", 1)
        # A new worker gets as long to reach the database as one that has lost it.
        self._counters.set("keys_confirmed", int(time.monotonic() * 1000))
        self._replies = Replies(
            f"{config.effective_cabinet_url}/docs/errors", config.error_messages
        )
        self._health = health = Health(self._counters)
        self._journal = Journal(self._counters, config.journal_interval)
        self._unmatched = UnmatchedRequests(
            CAPACITY if config.unmatched_requests else 0
        )
        self._database = Database(Store(config), health, self._counters)
        self._keyring = Keyring(
            shared.limiter,
            self._database.look_up,
            config.database_grace,
            self._note_look_up,
            health.note_unexpected,
        )
        services = Services(
            self._replies, shared.limiter, self._journal, self._unmatched
        )
        api = Api(
            services,
            self._keyring,
            self._counters,
            config.trusted_proxy_count,
        )
        ops = Ops(shared.counters, health, self._keyring, self._lifecycle, config)
        allowed = limits(config, len(self.sockets))
        heads = RecognisedHeads(
            api.describe, allowed.head_fields, READ_FIELDS, keys.contains_key
        )
        self._api_connections = ConnectionRegistry(api, allowed, network, heads)
        self._ops_connections = ConnectionRegistry(ops, allowed)
        certificate = config.tls_certificate
        self._expires = expiry(certificate) if certificate else 0
        self._counters.set("certificate_expires", self._expires)

    def _accept_api(self) -> Accept:
        """Return the function that accepts connections to the API from a socket."""
        certificate, key = self._config.tls_certificate, self._config.tls_key
        accept = partial(_accept, partial(Connection, self._api_connections))
        if not certificate or not key:
            return accept
        return partial(
            accept,
            ssl=tls_context(certificate, key),
            # Before the first byte of a head, and no longer than for the head itself.
            ssl_handshake_timeout=self._config.head_timeout,
        )

    async def _accept_ops(self, listener: socket.socket) -> asyncio.Server:
        """Accept checks of readiness, once this worker knows the answer.

        A balancer that watches this replica must not hear that it is not ready only
        because a new worker has not reached the database yet. Until then its checks go
        to another worker, or wait.
        """
        while self._lifecycle.is_watched and not (
            self._keyring.is_trusted or self._health.reading.error
        ):
            if self._stopping.is_set():
                break
            await asyncio.sleep(_MOMENT_SECONDS)
        return await _accept(partial(Connection, self._ops_connections), listener)

    async def _stop(self, ops_server: asyncio.Server) -> None:
        """End all connections, so that no request is lost on the longest path."""
        deadline = time.monotonic() + self._config.stop_timeout
        lifecycle = self._lifecycle
        notice = lifecycle.notice(self._config)
        # First: once the listeners close, no answer may promise to keep its connection.
        self._api_connections.retire()
        self._journal.hurry()
        if lifecycle.is_stopping and lifecycle.is_watched and not lifecycle.is_hurried:
            # /readyz answers 503 now; balancers send no more requests before we close.
            await asyncio.sleep(notice)
        await self._stop_listening()
        await self._api_connections.stop(notice, deadline - time.monotonic())
        # Last: a balancer that gets no answer here ends the requests that still run.
        ops_server.close()
        await self._ops_connections.stop(SHORT_NOTICE_SECONDS, 1)

    async def _stop_listening(self) -> None:
        """Close the listeners; serve the connections that the kernel has accepted.

        Their clients may have sent a request already, and would lose it. If other
        processes go on listening, the queue stays for them.
        """
        pause = self._handshake_seconds()
        listeners = self._accepting.sockets
        if self._lifecycle.is_stopping and self._application.owns_listeners:
            for listener in listeners:
                listening.turn_away(listener)
            # A worker that hangs, or ends before this one, may leave a queue.
            await self._accepting.accept_from_all()
            await asyncio.sleep(pause)
            # The loop accepts one in each iteration.
            end = time.monotonic() + _HANDSHAKE_SECONDS
            is_waiting = listening.is_anyone_waiting
            while any(map(is_waiting, listeners)) and time.monotonic() < end:
                await asyncio.sleep(0)
            pause = _MOMENT_SECONDS
        self._accepting.close()
        # What was accepted last is not registered before the loop has gone on.
        await asyncio.sleep(pause)
        listening.let_in()

    def _handshake_seconds(self) -> float:
        if self._lifecycle.is_hurried:
            return _MOMENT_SECONDS
        if self._config.tls_certificate:
            return _TLS_HANDSHAKE_SECONDS
        busy = self._api_connections.connections
        return _HANDSHAKE_SECONDS if busy else _MOMENT_SECONDS

    async def _tick_during(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Call the periodic work until this coroutine has ended."""
        task = asyncio.create_task(work)
        while not task.done():
            self._tick()
            try:
                await self._accepting.update()
            except Exception as error:
                self._health.note_unexpected(error)
            await asyncio.wait([task], timeout=ROUND_SECONDS)
        return task.result()

    def _tick(self) -> None:
        """Begin a round. A step that fails does not keep the others from being done."""
        now, wall = time.monotonic(), time.time()
        steps: list[Callable[[], object]] = [
            self.notify,
            self._notice_stop,
            lambda: self._replies.tick(wall),
            lambda: self._api_connections.sweep(now),
            lambda: self._ops_connections.sweep(now),
            lambda: self._begin_round(now, wall),
            self._report,
        ]
        for step in steps:
            try:
                step()
            except Exception as error:
                self._health.note_unexpected(error)

    def _begin_round(self, now: float, wall: float) -> None:
        self._database.begin_round(self._keyring.tick(now, wall), now, wall)

    def _note_look_up(self, seconds: float) -> None:
        self._counters.add("key_lookups")
        if seconds > _SLOW_LOOK_UP_SECONDS:
            self._counters.add("slow_key_lookups")

    def _report(self) -> None:
        counters = self._counters
        counters.count_log_lines()
        accepted, refused = self._api_connections.take_counts()
        counters.add("connections", accepted)
        counters.add("connections_refused", refused)
        counters.set("open_connections", len(self._api_connections.connections))
        counters.set("max_open_connections", self._api_connections.max_connections)
        counters.set("known_keys", len(self._keyring))
        counters.set("waiting_keys", self._keyring.waiting)
        counters.set("pending_rows", self._database.pending_rows)
        if (confirmed_at := self._keyring.confirmed_at) > 0:
            counters.set("keys_confirmed", int(confirmed_at * 1000))


async def _accept(
    connection: Callable[[], Connection], listener: socket.socket, **options: Any
) -> asyncio.Server:
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):  # connections inherit them
        listener.setsockopt(socket.SOL_SOCKET, option, _KERNEL_BUFFER_BYTES)
    return await asyncio.get_running_loop().create_server(
        connection, sock=listener, backlog=listening.BACKLOG, **options
    )


def limits(config: Config, listeners: int = 1) -> Limits:
    """Return the limits of the settings, or of the number of files if that is less."""
    most = config.max_connections
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY:
        room = files - _RESERVED_FILES - _FILES_PER_LISTENER * listeners
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
