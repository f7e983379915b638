"""A worker of the cabinet: connections in an event loop, pages in threads.

Accepts connections, lets Django answer them (`wsgi.py`), sends the e-mails of the
outbox in one more thread, and stops without losing a request.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from readback.cabinet.serving.wsgi import (
    LIFECYCLE,
    PAGES,
    Application,
    PageCounts,
    Pages,
    server_environ,
)
from readback.config import Config
from readback.http.connection import Connection
from readback.http.registry import ConnectionRegistry, Limits
from readback.processes.listening import BACKLOG
from readback.processes.worker import Server, Worker

# Per worker. With the files of the database, this is below the usual limit of 1,024
# descriptors.
MAX_CONNECTIONS = 800
# Cookies of other sites of the same domain may be long.
_MAX_HEAD_BYTES = 32_768
_MAX_HEAD_FIELDS = 100
# Larger than the largest form that Django accepts, so that Django refuses a form with
# one of our pages.
MAX_FORM_BYTES = 4 * 65_536
_UNFINISHED_BYTES = 16 << 20


class CabinetWorker(Worker):
    def __init__(
        self,
        load_application: Callable[[], Application],
        make_mail_sender: Callable[[], Any],
        server: Server,
        row: int,
    ) -> None:
        super().__init__(server, row)
        self._load_application = load_application
        self._make_mail_sender = make_mail_sender
        self._page_counts = PageCounts(server.counters, row)

    def prepare(self) -> None:
        self._application = self._load_application()

    async def listen(self) -> None:
        environ = server_environ(self.listeners[0].getsockname())
        environ |= {LIFECYCLE: self.lifecycle, PAGES: self._page_counts}
        self._pages = Pages(self._application, self.config, environ)
        self._connections = ConnectionRegistry(self._pages, limits(self.config))
        self._mail_sender = self._make_mail_sender()
        self._mail_sender.start()
        listen = asyncio.get_running_loop().create_server
        connection = partial(Connection, self._connections)
        self._servers = [
            await listen(connection, sock=listener, backlog=BACKLOG)
            for listener in self.listeners
        ]

    def tick(self) -> None:
        self._connections.sweep(time.monotonic())

    async def stop(self) -> None:
        await self.tick_during(
            self.end_connections(self._connections, self.listeners, self._servers)
        )
        self._pages.stop()
        self._mail_sender.stop()


def limits(config: Config) -> Limits:
    return Limits(
        connections=MAX_CONNECTIONS,
        connections_per_address=0,
        head_bytes=_MAX_HEAD_BYTES,
        head_fields=_MAX_HEAD_FIELDS,
        body_bytes=MAX_FORM_BYTES,
        unfinished_bytes=_UNFINISHED_BYTES,
        head_seconds=config.head_timeout,
        body_seconds=config.body_timeout,
        idle_seconds=config.idle_timeout,
        drain_seconds=config.drain_timeout,
        closes_slowest=True,
    )
