"""The cabinet as a service: what `processes/plane.py` has to know about this plane.

Django is imported only when the application is loaded, so that importing this module is
cheap.
"""

import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from readback.cabinet.serving.worker import CabinetWorker
from readback.config import Config
from readback.processes.plane import Arbiter, PlaneApplication
from readback.processes.shared_counters import SharedCounters, rows_for

THREADS = 8
_MARGIN_SECONDS = 5


class CabinetApplication(PlaneApplication):
    def __init__(self, config: Config, listener: socket.socket) -> None:
        super().__init__(
            config,
            [listener],
            _MARGIN_SECONDS,
            workers=config.cabinet_workers,
            worker_class=CabinetWorker,
            threads=THREADS,
            # No proxy may move the pages to other paths: nothing here expects it.
            forwarder_headers="",
            # An error in the settings or the code stops the start once, with a
            # message, instead of killing one worker after another.
            preload_app=True,
            # Each worker sends mails in a thread of its own.
            post_worker_init=_start_sender,
            worker_exit=_stop_sender,
            proc_name="readback-cabinet",
        )

    def load(self) -> Callable[..., Any]:
        application = load_application()
        from readback.cabinet.operators.status import STATUSES, WorkerPages

        # In the master process, because the application is preloaded.
        self.counters = SharedCounters(STATUSES, rows_for(self.cfg.workers))
        self.pages = partial(WorkerPages, self.counters)
        return application


def load_application() -> Callable[..., Any]:
    """Set Django up, and return its WSGI application with the logs of a server."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "readback.cabinet.settings")
    from django.core.wsgi import get_wsgi_application

    application = get_wsgi_application()
    from django.conf import settings

    from readback.cabinet import apps
    from readback.cabinet.serving import security_log

    security_log.enable(settings.CONFIG)
    apps.log_warnings()
    return application


def _start_sender(worker: CabinetWorker) -> None:
    from readback.cabinet.accounts.services import expired_delete
    from readback.cabinet.mail import notices, outbox

    worker.mail_sender = outbox.Sender(notices.add_due_reminders, expired_delete)
    worker.mail_sender.start()


def _stop_sender(master: Arbiter, worker: CabinetWorker) -> None:
    if worker.mail_sender is not None:
        worker.mail_sender.stop()


def run(config: Config, listener: socket.socket) -> int:
    """Serve until stopped; return the exit code."""
    return CabinetApplication(config, listener).serve()
