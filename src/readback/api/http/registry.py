"""The open connections of one listener: how many, how old, and how they end.

One sweep a second replaces a timer per connection: the hot path then only stores a
deadline. Nothing here knows about HTTP.
"""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from readback.api.http.fair_queue import FairQueue

SWEEP_SECONDS = 0.5
# A connection is asked to end after this time, so that none lives for ever and a
# load balancer gets to spread them anew.
MAX_AGE_SECONDS = 3600.0
# When the service stops, a request may be on its way on a connection that looks
# idle: it gets this long to arrive, then the connection is closed.
STOP_GRACE_SECONDS = 0.25


class ManagedConnection(Protocol):
    """What the registry asks of a connection."""

    opened_at: float
    address: str

    def check(self, now: float) -> None:
        """End the connection if its deadline has passed."""

    def retire(self) -> None:
        """Make the next answer the last."""

    def close_if_idle(self) -> None: ...

    def abort(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there may be, and how long each phase may take."""

    connections: int
    connections_per_address: int
    head_seconds: float
    body_seconds: float
    idle_seconds: float
    drain_seconds: float


class ConnectionRegistry:
    """All connections of one listener in one worker."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.stopping = False
        self.calls: set[ManagedConnection] = set()
        self.turns = FairQueue()
        self._per_address: Counter[str] = Counter()
        self._connected = 0
        self.now = self.idle_deadline = 0.0
        self.tick(time.monotonic())

    def tick(self, now: float) -> None:
        self.now = now
        self.idle_deadline = now + self.limits.idle_seconds

    def connect(self, call: ManagedConnection) -> bool:
        """Take a new connection; False when there are too many already."""
        self.calls.add(call)
        self._connected += 1
        self._per_address[call.address] += 1
        per_address = self.limits.connections_per_address
        crowded = per_address and self._per_address[call.address] > per_address
        within = len(self.calls) <= self.limits.connections
        return within and not (crowded and call.address)

    def disconnect(self, call: ManagedConnection) -> None:
        self.calls.discard(call)
        self._per_address[call.address] -= 1
        if not self._per_address[call.address]:
            del self._per_address[call.address]

    def take_count(self) -> int:
        """Give how many connections have come since the last time."""
        count, self._connected = self._connected, 0
        return count

    def sweep(self, now: float) -> None:
        self.tick(now)
        for call in tuple(self.calls):
            call.check(now)
            if now - call.opened_at > MAX_AGE_SECONDS:
                call.retire()

    def retire(self) -> None:
        """Make the next answer of each connection its last."""
        self.stopping = True
        for call in tuple(self.calls):
            call.retire()

    async def stop(self, seconds: float) -> None:
        """Let what has begun finish within so many seconds, then end the rest."""
        self.retire()
        deadline = time.monotonic() + seconds
        await asyncio.sleep(min(STOP_GRACE_SECONDS, seconds))
        while self.calls and time.monotonic() < deadline:
            self.sweep(time.monotonic())
            for call in tuple(self.calls):
                call.close_if_idle()
            await asyncio.sleep(0.02)
        for call in tuple(self.calls):
            call.abort()
