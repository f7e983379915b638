"""The cabinet as a server: what its workers share, and what each of them runs.

A worker accepts connections, lets Django answer requests (`serving/wsgi.py`), sends the
e-mails in the outbox, and stops without losing a request. Only workers import Django,
so this module can be imported quickly.
"""

import asyncio
import os
import socket
import time
from collections.abc import Callable
from functools import partial

from readback.cabinet.serving.wsgi import (
    LIFECYCLE,
    PAGES,
    STATUSES,
    Application,
    PageCounts,
    Pages,
    server_environ,
)
from readback.config import Config
from readback.http.connection import Connection
from readback.http.registry import ConnectionRegistry, Limits
from readback.processes.lifecycle import CABINET, Lifecycle
from readback.processes.listening import BACKLOG
from readback.processes.shared_counters import SharedCounters
from readback.processes.worker import Server, Worker

_MARGIN_SECONDS = 5


def cabinet_server(
    config: Config,
    lifecycle: Lifecycle,
    listener: socket.socket,
    prepare_service: Callable[[], None],
) -> Server:
    return Server(
        name=CABINET,
        config=config,
        lifecycle=lifecycle,
        listeners=[listener],
        counters=SharedCounters(STATUSES, config.cabinet_workers),
        workers=config.cabinet_workers,
        stop_seconds=config.stop_timeout + _MARGIN_SECONDS,
        make_worker=CabinetWorker,
        prepare_service=prepare_service,
    )


class CabinetWorker(Worker):
    """An event loop for connections, threads for pages, and a thread for e-mails."""

    def prepare(self) -> None:
        self._application = load_application()

    async def listen(self) -> None:
        from readback.cabinet.accounts.services import expired_delete
        from readback.cabinet.mail import notices, outbox

        environ = server_environ(self.listeners[0].getsockname())
        page_counts = PageCounts(self.all_counters, self.counters)
        environ |= {LIFECYCLE: self.lifecycle, PAGES: page_counts}
        self._pages = Pages(self._application, self.config, environ)
        self._connections = ConnectionRegistry(self._pages, limits(self.config))
        self._mail_sender = outbox.Sender(notices.add_due_reminders, expired_delete)
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
        # Per worker: with the database's files, below the usual limit of 1,024 files.
        connections=800,
        connections_per_address=0,
        # Other sites on the same domain may set large cookies.
        head_bytes=32_768,
        head_fields=100,
        # Above Django's limit, so that Django refuses large forms with our page.
        body_bytes=4 * 65_536,
        unfinished_bytes=16 << 20,
        head_seconds=config.head_timeout,
        body_seconds=config.body_timeout,
        idle_seconds=config.idle_timeout,
        drain_seconds=config.drain_timeout,
        closes_slowest=True,
    )


def load_application() -> Application:
    """Set Django up, enable the security log, and return the WSGI application."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "readback.cabinet.settings")
    from django.core.wsgi import get_wsgi_application

    application = get_wsgi_application()
    from django.conf import settings

    from readback.cabinet.serving import security_log

    security_log.enable(settings.CONFIG)
    return application
