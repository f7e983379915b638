"""A worker of the cabinet: an event loop for bytes, threads for pages.

Accepts connections, runs the WSGI application in a thread for each complete request,
and stops without losing a request. gunicorn's parser, WSGI environment and response are
used as they are.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

from gunicorn.config import Config as GunicornConfig
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
from readback.cabinet.serving.page_counts import LIFECYCLE, PAGES, WorkerPages
from readback.processes.listening import BACKLOG
from readback.processes.worker import MOMENT_SECONDS, Plane, Worker

THREADS = 8
# Per worker. With the files of the database, this is below the usual limit of 1,024
# descriptors.
MAX_CONNECTIONS = 800
# How long running requests get after Ctrl-C.
QUICK_SECONDS = 1.0

_log = logging.getLogger("readback.cabinet.worker")


class CabinetWorker(Worker):
    tick_seconds = 1.0

    def __init__(
        self,
        plane: Plane,
        row: int,
        load_application: Callable[[], Callable[..., Any]],
        make_mail_sender: Callable[[], Any],
    ) -> None:
        super().__init__(plane, row)
        self._load_application = load_application
        self._make_mail_sender = make_mail_sender
        self._pages = WorkerPages(plane.counters, row)
        self._gunicorn_config = GunicornConfig()
        # No proxy may move the pages to other paths: nothing here expects it.
        self._gunicorn_config.set("forwarder_headers", "")
        self._server_address: Address = self.listeners[0].getsockname()
        self._threads = ThreadPoolExecutor(THREADS, "request")
        # Forms use at most half of the threads; further ones wait here. Many
        # sign-ups at once, which hash passwords, must not delay other pages.
        self._forms = asyncio.Semaphore(THREADS // 2)
        # The event loop itself does not keep a task alive.
        self._connections: dict[BufferedConnection, asyncio.Task[None]] = {}
        self._accepted = 0
        # While it retires, every answer says `Connection: close`.
        self._is_retiring = False

    def prepare(self) -> None:
        self._application = self._load_application()

    async def listen(self) -> None:
        self._mail_sender = self._make_mail_sender()
        self._mail_sender.start()
        self._servers = [
            await asyncio.start_server(self._accept, sock=each, backlog=BACKLOG)
            for each in self.listeners
        ]

    def tick(self) -> None:
        """Do nothing: connections have timers, and mails a thread."""

    async def stop(self) -> None:
        await self.tick_during(self._retire())
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._mail_sender.stop()

    async def _retire(self) -> None:
        """Stop accepting connections, and end those that are open.

        If new workers accept from the same sockets, this one no longer does. Otherwise
        it goes on as long as clients or balancers are there, while health checks fail.
        """
        self._is_retiring = True
        lifecycle, begun = self.lifecycle, time.monotonic()
        notice_ends = begun + lifecycle.notice(self.config)
        seconds = QUICK_SECONDS if lifecycle.is_hurried else self.config.stop_timeout
        if lifecycle.is_stopping:
            await self._until_quiet(notice_ends)
        await self.stop_listening(self.listeners, self._servers)
        # Let each connection answer one more request, and close it if none comes.
        while self._connections and time.monotonic() < begun + seconds:
            if time.monotonic() >= notice_ends:
                for connection in self._connections:
                    connection.end_if_idle()
            await asyncio.sleep(MOMENT_SECONDS)

    async def _until_quiet(self, notice_ends: float) -> None:
        """Wait until no client is connected, none has come since, and none checks."""
        accepted, lifecycle = self._accepted, self.lifecycle
        while self._connections or self._accepted > accepted or lifecycle.is_watched:
            if lifecycle.is_hurried or time.monotonic() >= notice_ends:
                return
            await asyncio.sleep(MOMENT_SECONDS)

    def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._connections) >= MAX_CONNECTIONS:  # close the slowest
            waiting = [each for each in self._connections if each.waiting_since]
            if waiting:
                min(waiting, key=lambda each: each.waiting_since or 0).abort()
        self._accepted += 1
        connection = BufferedConnection(
            reader, writer, self.config, self._gunicorn_config, self._respond
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
        try:
            response, environ = wsgi.create(
                *(request, sock, client, self._server_address, self._gunicorn_config)
            )
            environ["wsgi.multithread"] = True
            environ[LIFECYCLE] = self.lifecycle
            environ[PAGES] = self._pages
            with closing(self._application(environ, response.start_response)) as parts:
                if self._is_retiring:
                    response.force_close()
                for part in parts:
                    # Django leaves the body of an answer to HEAD to the server.
                    if request.method != "HEAD":
                        response.write(part)
                response.close()
        except ParseException:
            return refusal(HTTPStatus.BAD_REQUEST, self.config), False
        except Exception as error:
            _log.error("A request failed: %s", logs.describe_error(error))
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            return refusal(status, self.config), False
        return bytes(answer), not response.should_close()
