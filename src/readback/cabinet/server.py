"""The cabinet's server process: gunicorn around our worker, on an open socket.

Django is imported only when the application is loaded, so that importing this module is
cheap.
"""

import os
import socket
from collections.abc import Callable
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.workers.base import Worker

from readback import logs
from readback.arbiter import Arbiter, assign_counters_row, count_death
from readback.cabinet.serving.worker import CabinetWorker
from readback.config import Config
from readback.lifecycle import Lifecycle
from readback.shared_counters import rows_for
from readback.stop_listening import ListenerHold, is_ours

THREADS = 8
# How much longer the master waits for a worker than the worker waits for requests.
_MARGIN_SECONDS = 5


class CabinetApplication(BaseApplication):
    def __init__(
        self, config: Config, listener: socket.socket, hold: ListenerHold | None
    ) -> None:
        self.config = config
        self.lifecycle = Lifecycle(config.cabinet_workers)
        self._is_ours = is_ours(listener)
        self._hold = hold
        self._settings = {
            # gunicorn closes this descriptor, so it must own it.
            "bind": f"fd://{listener.detach()}",
            "worker_class": CabinetWorker,
            "workers": config.cabinet_workers,
            "threads": THREADS,
            # No proxy may move the pages to other paths: nothing here expects it.
            "forwarder_headers": "",
            "graceful_timeout": int(config.stop_timeout) + _MARGIN_SECONDS,
            # An error in the settings or the code stops the start once, with a
            # message, instead of killing one worker after another.
            "preload_app": True,
            # Each worker sends mails in a thread of its own.
            "post_worker_init": _start_sender,
            "worker_exit": _stop_sender,
            "pre_fork": assign_counters_row,
            "child_exit": count_death,
            "proc_name": "readback-cabinet",
            "control_socket_disable": True,
            "logconfig_dict": logs.configuration(),
        }
        super().__init__()

    @property
    def owns_listeners(self) -> bool:
        """Whether no other process goes on listening when the cabinet stops."""
        return self._is_ours and not (self._hold and self._hold.is_held)

    def for_clients(self, listeners: list[socket.socket]) -> list[socket.socket]:
        return listeners

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Callable[..., Any]:
        application = load_application()
        from django.urls import get_resolver

        from readback.cabinet.accounts.password_pages import hashes_password
        from readback.cabinet.operators.metrics import PageCounters

        self._hashes_password = hashes_password
        # In the master process, because the application is preloaded.
        patterns = get_resolver().url_patterns
        self.counters = PageCounters(patterns, rows_for(self.cfg.workers))
        return application

    def hashes_password(self, method: str, path: str) -> bool:
        return self._hashes_password(method, path)

    def pages(self, row: int) -> object:
        from readback.cabinet.operators.metrics import WorkerPages

        return WorkerPages(self.counters, row)


def load_application() -> Callable[..., Any]:
    """Set Django up, and return its WSGI application with the logs of a server."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "readback.cabinet.settings")
    from django.core.wsgi import get_wsgi_application

    application = get_wsgi_application()
    from readback.cabinet import apps
    from readback.cabinet.serving import security_log

    security_log.write_to_stderr()
    apps.log_warnings()
    return application


def _start_sender(worker: Worker) -> None:
    from readback.cabinet.accounts.mail_rendering import render
    from readback.cabinet.mail.sender import start_sender

    start_sender(render)


def _stop_sender(arbiter: Arbiter, worker: Worker) -> None:
    from readback.cabinet.mail.sender import stop_sender

    stop_sender()


def run(
    config: Config, listener: socket.socket, hold: ListenerHold | None = None
) -> None:
    """Serve until stopped; gunicorn then exits the process.

    A caller that starts the cabinet again after its death passes its hold on the
    listener.
    """
    arbiter = Arbiter(CabinetApplication(config, listener, hold))
    # Leave the socket's file to the process that opened it: gunicorn would remove it
    # even if systemd or the next server is listening there.
    arbiter.systemd = True
    arbiter.run()
