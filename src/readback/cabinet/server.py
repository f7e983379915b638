"""The server of the cabinet: what its workers share, and the Django that each loads.

Django is imported only in the workers, so that importing this module is cheap.
"""

import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from readback.cabinet.serving.worker import CabinetWorker
from readback.cabinet.serving.wsgi import STATUSES
from readback.config import Config
from readback.processes.lifecycle import CABINET, Lifecycle
from readback.processes.shared_counters import SharedCounters, rows_for
from readback.processes.worker import Server

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
        counters=SharedCounters(STATUSES, rows_for(config.cabinet_workers)),
        workers=config.cabinet_workers,
        stop_seconds=config.stop_timeout + _MARGIN_SECONDS,
        make_worker=partial(CabinetWorker, load_application, _mail_sender),
        prepare_service=prepare_service,
    )


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


def _mail_sender() -> Any:
    """Return the thread that sends the mails of a worker."""
    from readback.cabinet.accounts.services import expired_delete
    from readback.cabinet.mail import notices, outbox

    return outbox.Sender(notices.add_due_reminders, expired_delete)
