"""The cabinet's gunicorn worker: an event loop for bytes, threads for pages.

Accepts connections, runs the WSGI application in a thread for each complete request,
and stops without losing a request. gunicorn is the supervisor: it forks, restarts and
signals. Its WSGI environment and its response are used as they are.
"""

import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, cast

from gunicorn.http import wsgi
from gunicorn.http.errors import ParseException
from gunicorn.http.message import Request

from readback import logs
from readback.cabinet.serving.connection import (
    Address,
    Answer,
    BufferedConnection,
    refusal,
)
from readback.processes.listening import BACKLOG, let_in, turn_away
from readback.processes.plane import PlaneWorker

# Where the application finds whether the whole service is stopping, and what counts its
# pages.
LIFECYCLE = "readback.lifecycle"
PAGES = "readback.pages"
# Per worker. With the files of the database, this is below the usual limit of 1,024
# descriptors.
MAX_CONNECTIONS = 800
# How long running requests get after Ctrl-C.
QUICK_SECONDS = 1.0
_TICK_SECONDS = 1.0
_POLL_SECONDS = 0.05


class CabinetWorker(PlaneWorker):
    # The thread that sends e-mails, from when the worker is ready.
    mail_sender: Any = None

    def load_wsgi(self) -> None:
        super().load_wsgi()
        application: Any = self.app  # a CabinetApplication, whose module imports this
        self._counters = application.counters.row(self.counters_row)
        self._pages = application.pages(self.counters_row)
        self._server_address: Address = self._listeners[0].getsockname()
        self._threads = ThreadPoolExecutor(self.cfg.threads, "request")
        # Forms use at most half of the threads; further ones wait here. Many
        # sign-ups at once, which hash passwords, must not delay other pages.
        self._forms = asyncio.Semaphore(self.cfg.threads // 2)
        # The event loop itself does not keep a task alive.
        self._connections: dict[BufferedConnection, asyncio.Task[None]] = {}
        self._accepted = 0
        # While it retires, every answer says `Connection: close`.
        self._is_retiring = False

    def run(self) -> None:
        asyncio.run(self._serve())
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _serve(self) -> None:
        self._handle_sigterm()
        servers = [
            await asyncio.start_server(self._accept, sock=each, backlog=BACKLOG)
            for each in self._listeners
        ]
        while not self._stopping.is_set():
            self.notify()
            self._notice_stop()
            self._counters.count_log_lines()
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._stopping.wait()
        await self._retire(servers)

    async def _retire(self, servers: list[asyncio.Server]) -> None:
        """Stop accepting connections, and end those that are open.

        If new workers accept from the same sockets, this one no longer does. Otherwise
        it goes on as long as clients or balancers are there, while health checks fail.
        """
        self._is_retiring = True
        lifecycle, begun = self._lifecycle, time.monotonic()
        notice_ends = begun + lifecycle.notice(self._config)
        seconds = QUICK_SECONDS if lifecycle.is_hurried else self._config.stop_timeout
        if lifecycle.is_stopping:
            await self._until_quiet(notice_ends)
            if self._application.owns_listeners:
                # Accept the connections in the kernel's queue, but no new ones: their
                # clients may have sent a request already, and would lose it.
                for listener in self._listeners:
                    # asyncio would log an error if a unix socket did this.
                    if listener.family != socket.AF_UNIX:
                        turn_away(listener)
                await self._wait()
        # Leave the queues of the kernel, and take in what was accepted last: asyncio
        # drops a connection that is not taken in when its server closes.
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener)
        await self._wait()
        let_in()
        for server in servers:
            server.close()
        # Let each connection answer one more request, and close it if none comes.
        while self._connections and time.monotonic() < begun + seconds:
            if time.monotonic() >= notice_ends:
                for connection in self._connections:
                    connection.end_if_idle()
            await self._wait()

    async def _until_quiet(self, notice_ends: float) -> None:
        """Wait until no client is connected, none has come since, and none checks."""
        accepted, lifecycle = self._accepted, self._lifecycle
        while self._connections or self._accepted > accepted or lifecycle.is_watched:
            if lifecycle.is_hurried or time.monotonic() >= notice_ends:
                return
            await self._wait()

    async def _wait(self) -> None:
        self.notify()
        await asyncio.sleep(_POLL_SECONDS)

    def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._connections) >= MAX_CONNECTIONS:  # close the slowest
            waiting = [each for each in self._connections if each.waiting_since]
            if waiting:
                min(waiting, key=lambda each: each.waiting_since or 0).abort()
        self._accepted += 1
        connection = BufferedConnection(
            reader, writer, self._config, self.cfg, self._respond
        )
        task = asyncio.create_task(connection.serve())
        self._connections[connection] = task
        task.add_done_callback(lambda _: self._connections.pop(connection))

    async def _respond(self, request: Request, client: Address) -> Answer:
        run = partial(self._run_application, request, client)
        loop = asyncio.get_running_loop()
        if request.method in ("GET", "HEAD"):
            return await loop.run_in_executor(self._threads, run)
        async with self._forms:
            return await loop.run_in_executor(self._threads, run)

    def _run_application(self, request: Request, client: Address) -> Answer:
        """Return the answer of the WSGI application; runs in a thread."""
        answer = bytearray()
        # gunicorn's response writes to a socket.
        sock: Any = SimpleNamespace(sendall=answer.extend)
        address, application = self._server_address, cast(Any, self.wsgi)
        try:
            response, environ = wsgi.create(request, sock, client, address, self.cfg)
            environ["wsgi.multithread"] = True
            environ[LIFECYCLE] = self._lifecycle
            environ[PAGES] = self._pages
            with closing(application(environ, response.start_response)) as parts:
                if self._is_retiring:
                    response.force_close()
                for part in parts:
                    # Django leaves the body of an answer to HEAD to the server.
                    if request.method != "HEAD":
                        response.write(part)
                response.close()
        except ParseException:
            return refusal(HTTPStatus.BAD_REQUEST, self._config), False
        except Exception as error:
            self.log.error("A request failed: %s", logs.describe_error(error))
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            return refusal(status, self._config), False
        return bytes(answer), not response.should_close()
