"""The cabinet as a process: gunicorn with threads on a socket that is open already.

Loads Django only inside `run`, so that importing this module costs nothing.
"""

import os
import socket
from collections.abc import Callable
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

from readback import logs
from readback.config import Config

THREADS = 8


class _Cabinet(BaseApplication):
    def __init__(self, config: Config, listener: socket.socket) -> None:
        self._settings = {
            # gunicorn closes the descriptor that it is given, so it must own it.
            "bind": f"fd://{listener.detach()}",
            "worker_class": "gthread",
            "workers": config.cabinet_workers,
            "threads": THREADS,
            "graceful_timeout": int(config.stop_timeout) or 1,
            # A fault in the settings or the code stops the start, once and loudly,
            # instead of killing one worker after the other.
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


def run(config: Config, listener: socket.socket) -> None:
    """Serve until stopped; gunicorn exits the process itself."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "readback.cabinet.settings")
    arbiter = Arbiter(_Cabinet(config, listener))
    # Whoever opened the socket decides what becomes of its file: gunicorn would
    # remove it, even when systemd or the next server is listening there.
    arbiter.systemd = True
    arbiter.run()
