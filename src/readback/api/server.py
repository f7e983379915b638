"""The API as a service: gunicorn's application around our worker.

Takes sockets that are listening already, so whoever starts it can tell a port in use
from everything else. gunicorn's master forks the workers, replaces those that die,
reloads on SIGHUP and stops gracefully on SIGTERM.
"""

import os
import socket
import sys
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

from readback import logs
from readback.api.shared.memory import SharedMemory
from readback.api.worker import ApiWorker
from readback.config import Config

# gunicorn kills a worker that has shown no sign of life for so long.
_SILENCE_SECONDS = 30
# The master gives a worker this much longer than it gives itself.
_MARGIN_SECONDS = 10


class ApiApplication(BaseApplication):
    """Configures gunicorn from our settings and from nothing else."""

    def __init__(
        self,
        config: Config,
        api_listeners: list[socket.socket],
        ops_listener: socket.socket,
    ) -> None:
        self.config = config
        self._workers = config.workers or os.cpu_count() or 1
        listeners = [*api_listeners, ops_listener]
        self._descriptors = [listener.detach() for listener in listeners]
        self.shared = SharedMemory(config, self._workers)
        super().__init__()

    def load_config(self) -> None:
        config = self.config
        settings: dict[str, Any] = {
            # gunicorn closes the descriptors that it is given, so it must own them.
            "bind": [f"fd://{descriptor}" for descriptor in self._descriptors],
            "workers": self._workers,
            "worker_class": ApiWorker,
            "timeout": _SILENCE_SECONDS,
            "graceful_timeout": int(config.stop_timeout) + _MARGIN_SECONDS,
            "proc_name": "readback-api",
            "logconfig_dict": logs.configuration(),
            "control_socket_disable": True,
            "pre_fork": _assign_counters_row,
        }
        if config.tls_certificate and config.tls_key:
            settings["certfile"] = str(config.tls_certificate)
            settings["keyfile"] = str(config.tls_key)
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Give gunicorn no WSGI application: the worker serves the API itself."""
        return None


def run(
    config: Config, api_listeners: list[socket.socket], ops_listener: socket.socket
) -> int:
    """Serve until stopped; give the exit code."""
    try:
        arbiter = Arbiter(ApiApplication(config, api_listeners, ops_listener))
        # Whoever opened a socket decides what becomes of its file: gunicorn would
        # remove it, even when systemd or the next server is listening there.
        arbiter.systemd = True
        arbiter.run()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 1
    return 0


def _assign_counters_row(server: Any, worker: ApiWorker) -> None:
    """Give a new worker the first row of the counters that no living one has."""
    taken = {other.counters_row for other in server.WORKERS.values()}
    worker.counters_row = next(n for n in range(sys.maxsize) if n not in taken)
