"""The server of the API: what its workers share.

Importing this module imports all that a worker needs, so that one starts at once.
"""

import socket
from functools import partial

from readback import programs
from readback.api.shared.limiter import Limiter
from readback.api.shared.memory import Counters
from readback.api.worker import ApiWorker
from readback.config import Config
from readback.processes.lifecycle import API, Lifecycle
from readback.processes.shared_counters import rows_for
from readback.processes.worker import Server

# Seconds that a worker has to write the rest of the journal.
_MARGIN_SECONDS = 10


def api_server(
    config: Config, lifecycle: Lifecycle, listeners: list[socket.socket]
) -> Server:
    """Return the server; the last of its listeners is for the operator."""
    programs.load()
    limiter = Limiter(config.key_rate, config.key_burst)
    return Server(
        name=API,
        config=config,
        lifecycle=lifecycle,
        listeners=listeners,
        counters=Counters(rows_for(config.worker_count)),
        workers=config.worker_count,
        stop_seconds=config.stop_timeout + _MARGIN_SECONDS,
        make_worker=partial(ApiWorker, limiter),
    )
