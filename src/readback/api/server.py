"""The API as a service: what `processes/plane.py` has to know about this plane."""

import socket
from typing import Any

from readback.api.shared.memory import SharedMemory
from readback.api.worker import ApiWorker
from readback.config import Config
from readback.processes.plane import PlaneApplication, assign_counters_row

# With the time in which a worker writes the rest of the journal.
_MARGIN_SECONDS = 10


class ApiApplication(PlaneApplication):
    """The last of its listeners is for the operator."""

    def __init__(
        self,
        config: Config,
        listeners: list[socket.socket],
    ) -> None:
        self.shared = shared = SharedMemory(config)
        self.counters = shared.counters
        super().__init__(
            config,
            listeners,
            _MARGIN_SECONDS,
            workers=shared.workers,
            worker_class=ApiWorker,
            proc_name="readback-api",
            pre_fork=_prepare_worker,
        )

    def load(self) -> Any:
        """Return no WSGI application: the worker serves the API itself."""
        return None


def _prepare_worker(server: Any, worker: Any) -> None:
    assign_counters_row(server, worker)
    used = [other.place for other in server.staying()]
    worker.place = server.app.shared.places.least_used(used)


def run(
    config: Config,
    api_listeners: list[socket.socket],
    ops_listener: socket.socket,
) -> int:
    """Serve until stopped; return the exit code."""
    return ApiApplication(config, [*api_listeners, ops_listener]).serve()
