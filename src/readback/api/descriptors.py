"""How many connections the limit on open files allows, and what happens at the limit.

Some descriptors are kept for everything else: the ops listener, the database, the log.
Otherwise a worker without free descriptors could not even say what is wrong with it.
"""

import logging
import resource

from readback.api.http.registry import ConnectionRegistry

log = logging.getLogger("readback.api")

# A worker has about 30 open files beside its connections and listening sockets.
_RESERVED = 96
# A worker may have a copy of each listening socket to accept from.
_PER_LISTENER = 2
# How many of these refused connections may use while their clients read the answer.
_REFUSED = 32
# It has recovered when this part of the connections is open, and not at each that ends.
_RECOVERED = 0.9


class Descriptors:
    """Lowers a registry's limit to what the process may open; logs each change once."""

    def __init__(self, registry: ConnectionRegistry, listeners: int) -> None:
        self._registry = registry
        self._reserved = _RESERVED + _PER_LISTENER * listeners
        self._error = ""

    def tick(self) -> int:
        """Apply the limit; return how many were refused since the last call.

        The limit is read again each time, because it can be changed from outside.
        """
        registry = self._registry
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit == resource.RLIM_INFINITY:
            return registry.take_refused()
        room = max(1, limit - self._reserved)
        registry.max_connections = min(registry.limits.connections, room)
        registry.max_answered_connections = room + _REFUSED
        refused, count = registry.take_refused(), len(registry.connections)
        if refused and count > room and not self._error:
            self._error = (
                f"out of file descriptors: the limit of this process is {limit}; "
                "new connections get 503"
            )
            log.error(self._error)
        elif self._error and count <= room * _RECOVERED:
            log.warning("recovered; was: %s", self._error)
            self._error = ""
        return refused
