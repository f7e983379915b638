"""The cabinet's gunicorn worker: an event loop for bytes, threads for pages.

Accepts connections, runs the WSGI application in a thread for each complete request,
and stops without losing a request. gunicorn is the supervisor: it forks, restarts and
signals. Its WSGI environment and its response are used as they are.
"""

import asyncio
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol, cast

from gunicorn.http import wsgi
from gunicorn.http.errors import ParseException
from gunicorn.http.message import Request
from gunicorn.workers.base import Worker

from readback import logs
from readback.cabinet.connection import (
    Address,
    Answer,
    BufferedConnection,
    refusal,
    status_of,
)
from readback.config import Config

# Tells the application that this worker is stopping and that no other takes over.
IS_LEAVING = "readback.is_leaving"
BACKLOG = 2048
# Per worker. With the files of the database, this is below the usual limit of 1,024
# descriptors.
MAX_CONNECTIONS = 800
# How long clients and balancers get to notice a stop: an idle connection may send one
# more request, and health checks fail before new connections do.
NOTICE_SECONDS = 5.0
# How long running requests get after SIGINT or SIGQUIT.
QUICK_SECONDS = 1.0
_TICK_SECONDS = 1.0
_POLL_SECONDS = 0.05


class CountsReloads(Protocol):
    """What a worker needs of the application that gunicorn passes to it."""

    config: Config

    def reload_count(self) -> int: ...


class CabinetWorker(Worker):
    def init_signals(self) -> None:
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        # Until the event loop runs and takes them over.
        signal.signal(signal.SIGTERM, self.handle_exit)
        signal.signal(signal.SIGQUIT, self.handle_quit)
        signal.signal(signal.SIGINT, self.handle_quit)
        signal.signal(signal.SIGABRT, self.handle_abort)

    def load_wsgi(self) -> None:
        super().load_wsgi()
        self._application = cast(CountsReloads, self.app)
        self._config = self._application.config
        self._reload_count = self._application.reload_count()
        # gunicorn wraps the sockets.
        self._listeners = [cast(Any, each).sock for each in self.sockets]
        self._server_address: Address = self._listeners[0].getsockname()
        self._threads = ThreadPoolExecutor(self.cfg.threads, "request")
        # The event loop itself does not keep a task alive.
        self._connections: dict[BufferedConnection, asyncio.Task[None]] = {}
        self._accepted = 0
        # While it retires, every answer says `Connection: close`.
        self._is_retiring = self._is_leaving = False
        self._idle_until = self._busy_until = float("inf")

    def run(self) -> None:
        asyncio.run(self._serve())
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        timeout = self._config.stop_timeout
        gracefully = partial(self._stop, min(NOTICE_SECONDS, timeout / 2), timeout)
        quickly = partial(self._stop, 0, QUICK_SECONDS)
        loop.add_signal_handler(signal.SIGTERM, gracefully)
        loop.add_signal_handler(signal.SIGINT, quickly)
        loop.add_signal_handler(signal.SIGQUIT, quickly)
        servers = [
            await asyncio.start_server(self._accept, sock=each, backlog=BACKLOG)
            for each in self._listeners
        ]
        while not self._stopping.is_set():
            self.notify()
            if os.getppid() != self.ppid or not self.alive:
                gracefully()
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._stopping.wait()
        await self._retire(servers)

    def _stop(self, idle_seconds: float, busy_seconds: float) -> None:
        """Begin to stop; if it has begun already, only ever stop sooner."""
        now = time.monotonic()
        self._idle_until = min(self._idle_until, now + idle_seconds)
        self._busy_until = min(self._busy_until, now + busy_seconds)
        self._stopping.set()

    async def _retire(self, servers: list[asyncio.Server]) -> None:
        """Stop accepting connections, and end those that are open.

        If new workers accept from the same sockets, this one no longer does. Otherwise
        it goes on as long as clients are there, while health checks fail.
        """
        self._is_retiring = True
        self._is_leaving = self._application.reload_count() == self._reload_count
        queued: list[socket.socket] = []
        if self._is_leaving:
            await self._until_quiet()
            # The clients in the kernel's queue may have sent a request already.
            queued = [one for each in self._listeners for one in _accept_all(each)]
        for server in servers:
            server.close()
        for client in queued:
            self._accept(*await asyncio.open_connection(sock=client))
        await self._end_connections()

    async def _until_quiet(self) -> None:
        """Wait until no client is connected and none has come since."""
        accepted = self._accepted
        while self._connections or self._accepted > accepted:
            if time.monotonic() >= self._idle_until:
                return
            await self._wait()

    async def _end_connections(self) -> None:
        """Let each connection answer one more request, and close it if none comes."""
        # What was accepted last is registered before this returns.
        await self._wait()
        while self._connections and time.monotonic() < self._busy_until:
            if time.monotonic() >= self._idle_until:
                for connection in self._connections:
                    connection.end_if_idle()
            await self._wait()

    async def _wait(self) -> None:
        self.notify()
        await asyncio.sleep(_POLL_SECONDS)

    def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._connections) >= MAX_CONNECTIONS:
            self._close_slowest()
        self._accepted += 1
        connection = BufferedConnection(
            reader, writer, self._config, self.cfg, self._respond
        )
        task = asyncio.create_task(connection.serve())
        self._connections[connection] = task
        task.add_done_callback(lambda _: self._connections.pop(connection))

    def _close_slowest(self) -> None:
        """Close the connection whose client has kept us waiting for the longest."""
        waiting = {
            since: connection
            for connection in self._connections
            if (since := connection.waiting_since) is not None
        }
        if waiting:
            waiting[min(waiting)].abort()

    async def _respond(self, request: Request, client: Address) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, self._run_application, request, client
        )

    def _run_application(self, request: Request, client: Address) -> Answer:
        """Return the answer of the WSGI application; runs in a thread."""
        output = _Output()
        try:
            keeps_open = self._write_answer(request, client, output)
        except ParseException as error:
            return refusal(status_of(error)), False
        except Exception as error:
            self.log.error("A request failed: %s", logs.describe_error(error))
            return refusal(HTTPStatus.INTERNAL_SERVER_ERROR), False
        return bytes(output.data), keeps_open

    def _write_answer(
        self, request: Request, client: Address, output: "_Output"
    ) -> bool:
        """Return whether another request may follow on the connection."""
        sock = cast(socket.socket, output)
        address = self._server_address
        response, environ = wsgi.create(request, sock, client, address, self.cfg)
        environ["wsgi.multithread"] = True
        environ[IS_LEAVING] = self._is_leaving
        application: Any = self.wsgi
        parts = application(environ, response.start_response)
        try:
            if self._is_retiring:
                response.force_close()
            for part in parts:
                response.write(part)
            response.close()
        finally:
            if hasattr(parts, "close"):
                parts.close()
        return not response.should_close()


class _Output:
    """Collects an answer where gunicorn's response expects a socket."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.sendall = self.data.extend


def _accept_all(listener: socket.socket) -> list[socket.socket]:
    """Return the connections in the kernel's accept queue; there may be none."""
    accepted: list[socket.socket] = []
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            client.setblocking(False)
            accepted.append(client)
    return accepted
