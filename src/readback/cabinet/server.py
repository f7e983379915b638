"""The cabinet's server process: gunicorn around our worker, on an open socket.

Django is imported only inside `run`, so that importing this module is cheap.
"""

import mmap
import os
import socket
from collections.abc import Callable
from typing import Any

from gunicorn.app.base import BaseApplication

from readback import logs
from readback.arbiter import Arbiter
from readback.cabinet.worker import CabinetWorker
from readback.config import Config

THREADS = 8
# How much longer the master waits for a worker than the worker waits for requests.
_MARGIN_SECONDS = 5


class CabinetApplication(BaseApplication):
    def __init__(self, config: Config, listener: socket.socket) -> None:
        self.config = config
        # Written by the master, and read by the workers that it has forked.
        self._reload_count = mmap.mmap(-1, 1)
        self._settings = {
            # gunicorn closes this descriptor, so it must own it.
            "bind": f"fd://{listener.detach()}",
            "worker_class": CabinetWorker,
            "workers": config.cabinet_workers,
            "threads": THREADS,
            "graceful_timeout": int(config.stop_timeout) + _MARGIN_SECONDS,
            "on_reload": lambda arbiter: self._count_reload(),
            # An error in the settings or the code stops the start once, with a
            # message, instead of killing one worker after another.
            "preload_app": True,
            "proc_name": "readback-cabinet",
            "control_socket_disable": True,
            "logconfig_dict": logs.configuration(),
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Callable[..., Any]:
        from readback.cabinet.wsgi import application

        return application

    def reload_count(self) -> int:
        """Return how often the workers were replaced, modulo 256.

        It tells a worker that must stop whether others take over.
        """
        return self._reload_count[0]

    def _count_reload(self) -> None:
        self._reload_count[0] = (self._reload_count[0] + 1) % 256


def run(config: Config, listener: socket.socket) -> None:
    """Serve until stopped; gunicorn then exits the process."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "readback.cabinet.settings")
    arbiter = Arbiter(CabinetApplication(config, listener))
    # Leave the socket's file to the process that opened it: gunicorn would remove it
    # even if systemd or the next server is listening there.
    arbiter.systemd = True
    arbiter.run()
