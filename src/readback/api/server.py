"""The API as a service: gunicorn's application around our worker.

It takes sockets that are already listening, so the caller can tell a port in use from
every other error. gunicorn's master process forks the workers, replaces those that die,
reloads on SIGHUP, and stops gracefully on SIGTERM and (with a short notice) on SIGINT.
"""

import socket
from typing import Any

from gunicorn.app.base import BaseApplication

from readback import logs
from readback.api.shared.memory import SharedMemory
from readback.api.worker import ApiWorker
from readback.arbiter import Arbiter, assign_counters_row, count_death
from readback.config import Config
from readback.lifecycle import Lifecycle
from readback.stop_listening import ListenerHold, is_ours

# gunicorn kills a worker that has not reported for this long.
_WORKER_TIMEOUT_SECONDS = 30
# How much longer the master waits for a worker than the worker waits for requests.
_MARGIN_SECONDS = 10


class ApiApplication(BaseApplication):
    """Configures gunicorn from our settings alone."""

    def __init__(
        self,
        config: Config,
        api_listeners: list[socket.socket],
        ops_listener: socket.socket,
        shared: SharedMemory,
        hold: ListenerHold | None,
    ) -> None:
        self.config = config
        listeners = [*api_listeners, ops_listener]
        self._are_ours = all(map(is_ours, listeners))
        self._hold = hold
        self._descriptors = [listener.detach() for listener in listeners]
        self.shared = shared
        self.counters = shared.counters
        self.lifecycle = Lifecycle(shared.workers)
        super().__init__()

    @property
    def owns_listeners(self) -> bool:
        """Whether no other process goes on listening when the API stops."""
        return self._are_ours and not (self._hold and self._hold.is_held)

    def for_clients(self, listeners: list[socket.socket]) -> list[socket.socket]:
        """Return the sockets without the last, which is for the operator."""
        return listeners[:-1]

    def load_config(self) -> None:
        config = self.config
        settings: dict[str, Any] = {
            # gunicorn closes the descriptors that it receives, so it must own them.
            "bind": [f"fd://{descriptor}" for descriptor in self._descriptors],
            "workers": self.shared.workers,
            "worker_class": ApiWorker,
            "timeout": _WORKER_TIMEOUT_SECONDS,
            "graceful_timeout": int(config.stop_timeout) + _MARGIN_SECONDS,
            "proc_name": "readback-api",
            "logconfig_dict": logs.configuration(),
            "control_socket_disable": True,
            "pre_fork": _prepare_worker,
            "child_exit": _note_exit,
        }
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """Return no WSGI application: the worker serves the API itself."""
        return None


def _prepare_worker(server: Any, worker: Any) -> None:
    assign_counters_row(server, worker)
    used = [other.place for other in server.staying()]
    worker.place = server.app.shared.places.least_used(used)


def _note_exit(server: Any, worker: Any) -> None:
    count_death(server, worker)
    # The others would notice only when the place has been silent for a while.
    if all(other.place != worker.place for other in server.staying()):
        server.app.shared.places.vacate(worker.place)


def run(
    config: Config,
    api_listeners: list[socket.socket],
    ops_listener: socket.socket,
    shared: SharedMemory | None = None,
    hold: ListenerHold | None = None,
) -> int:
    """Serve until stopped; return the exit code.

    A caller that starts the API again after its death passes the memory of the first
    start, and the hold that it has on the listeners.
    """
    shared = shared or SharedMemory(config)
    try:
        arbiter = Arbiter(
            ApiApplication(config, api_listeners, ops_listener, shared, hold)
        )
        # gunicorn would remove the file of a unix socket when it stops, even if systemd
        # or the next server is listening there. With this it leaves that to the caller.
        arbiter.systemd = True
        arbiter.run()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 1
    return 0
