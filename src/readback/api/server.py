"""The API as a plane: what its workers share.

Importing this module imports all that a worker needs, so that one starts at once.
"""

import socket

from readback.api.shared.memory import SharedMemory
from readback.api.worker import ApiWorker
from readback.config import Config
from readback.processes.lifecycle import API, Lifecycle
from readback.processes.worker import Plane

# In which a worker writes the rest of the journal.
_MARGIN_SECONDS = 10


class ApiPlane(Plane):
    """The last of its listeners is for the operator."""

    def __init__(
        self, config: Config, lifecycle: Lifecycle, listeners: list[socket.socket]
    ) -> None:
        self.shared = SharedMemory(config)
        super().__init__(
            name=API,
            config=config,
            lifecycle=lifecycle,
            listeners=listeners,
            counters=self.shared.counters,
            workers=self.shared.workers,
            margin_seconds=_MARGIN_SECONDS,
        )

    def worker(self, row: int) -> ApiWorker:
        return ApiWorker(self, self.shared, row)
