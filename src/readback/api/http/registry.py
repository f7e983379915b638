"""The open connections of one listener: what they share, how many, how they end.

One sweep every half second replaces a timer per connection: the hot path only stores a
deadline. Nothing here knows about HTTP messages.
"""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

from readback.api.http.fair_queue import FairQueue
from readback.api.http.handler import Handler
from readback.api.http.head_cache import HeadCache

SWEEP_SECONDS = 0.5
# The answer after this age is a connection's last, so that none lives forever and a
# load balancer gets to distribute them again.
MAX_AGE_SECONDS = 3600.0
# When the service stops, a request may be on its way on a connection that looks idle:
# it gets this long to arrive before the connection is closed.
STOP_GRACE_SECONDS = 0.25
_STOP_POLL_SECONDS = 0.02


class ManagedConnection(Protocol):
    """What the registry needs of a connection."""

    opened_at: float
    address: str

    def check(self, now: float) -> None:
        """End the connection if its deadline has passed."""

    def retire(self) -> None:
        """Leave the fast path; the next answer is the last."""

    def close_if_idle(self) -> None:
        """Close the connection unless a request has begun or is probably on its way."""

    def abort(self) -> None:
        """Close the connection at once."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there may be, how large a head, how long each phase."""

    connections: int
    connections_per_address: int
    head_bytes: int
    head_fields: int
    # A refused request's body up to this size is read and dropped, so that the
    # connection can stay open.
    dropped_body_bytes: int
    head_seconds: float
    body_seconds: float
    idle_seconds: float
    drain_seconds: float


class ConnectionRegistry:
    """All connections of one listener in one worker, and what they share."""

    def __init__(self, handler: Handler[Any], limits: Limits) -> None:
        self.handler = handler
        self.limits = limits
        self.heads = HeadCache(handler, limits.head_fields)
        self.queue = FairQueue()
        self._stopping = False
        # Connections opened before this time are closed after their next answer.
        self.retire_before = -inf
        self.connections: set[ManagedConnection] = set()
        self._per_address: Counter[str] = Counter()
        self._accepted = 0
        self.now = self.head_deadline = self.idle_deadline = 0.0
        self._set_time(time.monotonic())

    def connect(self, connection: ManagedConnection) -> bool:
        """Add a connection; return False if that is more than the limits allow."""
        address, limits = connection.address, self.limits
        self.connections.add(connection)
        self._accepted += 1
        self._per_address[address] += 1
        if len(self.connections) > limits.connections:
            return False
        # A unix socket has no address, and so no limit per address.
        if not address or not limits.connections_per_address:
            return True
        return self._per_address[address] <= limits.connections_per_address

    def disconnect(self, connection: ManagedConnection) -> None:
        self.connections.discard(connection)
        self._per_address[connection.address] -= 1
        if not self._per_address[connection.address]:
            del self._per_address[connection.address]

    def take_accepted(self) -> int:
        """Return how many connections were accepted since the last call."""
        count, self._accepted = self._accepted, 0
        return count

    def sweep(self, now: float) -> None:
        self._set_time(now)
        for connection in tuple(self.connections):
            connection.check(now)
            if connection.opened_at < self.retire_before:
                connection.retire()

    def retire(self) -> None:
        """Make the next answer of each connection its last."""
        self._stopping = True
        self.retire_before = inf
        for connection in tuple(self.connections):
            connection.retire()

    async def stop(self, seconds: float) -> None:
        """Let begun requests finish in this time, then end all connections."""
        self.retire()
        deadline = time.monotonic() + seconds
        await asyncio.sleep(min(STOP_GRACE_SECONDS, seconds))
        while self.connections and time.monotonic() < deadline:
            self.sweep(time.monotonic())
            for connection in tuple(self.connections):
                connection.close_if_idle()
            await asyncio.sleep(_STOP_POLL_SECONDS)
        for connection in tuple(self.connections):
            connection.abort()

    def _set_time(self, now: float) -> None:
        # Computed once for all connections, which share these numbers.
        self.now = now
        self.head_deadline = now + self.limits.head_seconds
        self.idle_deadline = now + self.limits.idle_seconds
        if not self._stopping:
            self.retire_before = now - MAX_AGE_SECONDS
