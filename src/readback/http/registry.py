"""The open connections of one listener, their limits, and how they end.

Connections have no timers. Each stores its deadline, and a sweep every half second
compares all of them with the clock.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

from readback.http.flow_control import LINGER_SECONDS, Backlog, PendingAnswers
from readback.http.handler import Handler, RequestOrigin
from readback.http.meaning import Heads
from readback.http.timing import Timing

# A connection of this age is closed after its next answer, so that load balancers can
# redistribute connections.
MAX_AGE_SECONDS = 3600.0
_STOP_POLL_SECONDS = 0.05
# How many connections above the limit get a 503; any more are closed without an answer.
_ANSWERED_BEYOND = 32


class ManagedConnection(RequestOrigin, Protocol):
    """What the registry needs to know about a connection."""

    opened_at: float
    # When the connection began to wait for its client; `inf` if it is not waiting.
    waiting_since: float

    def check(self, now: float) -> None:
        """End the connection if a deadline has passed."""

    def end_if_idle(self, linger_seconds: float) -> None:
        """Close our side unless a request has begun; go on reading for this long."""

    def abort(self) -> None:
        """Close the connection at once."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on connections, heads and bodies, and on the time of each phase."""

    connections: int
    connections_per_address: int
    head_bytes: int
    head_fields: int
    # The body of a refused request counts as well, although it is dropped.
    body_bytes: int
    # The total size of all incomplete bodies.
    unfinished_bytes: int
    head_seconds: float
    body_seconds: float
    idle_seconds: float
    drain_seconds: float
    # Whether a new connection above the limit replaces the slowest one.
    closes_slowest: bool = False


class ConnectionRegistry:
    """The connections of a listener in one worker, and what they share."""

    def __init__(
        self,
        handler: Handler[Any],
        limits: Limits,
        network_of: Callable[[str], str] = str,
        heads: Heads[Any] | None = None,
        timing: Timing | None = None,
    ) -> None:
        self.handler = handler
        self.limits = limits
        # Returns the network of an address. The limit per address applies to networks.
        self._network_of = network_of
        self.heads = heads or Heads(handler.describe, limits.head_fields)
        self.max_head = limits.head_bytes
        self.max_body = limits.body_bytes
        self.timing = timing or Timing()
        self.is_timed = self.timing.is_due
        self.backlog = Backlog()
        self.pending = PendingAnswers()
        self._stopping = False
        # The network for which each connection is counted; empty if it is not counted.
        self.connections: dict[ManagedConnection, str] = {}
        # How much of each incomplete body has arrived, the oldest body first.
        self.unfinished: dict[ManagedConnection, int] = {}
        self._unfinished_bytes = 0
        self._per_address: dict[str, int] = {}
        self._accepted = self._refused = 0
        self._set_time(time.monotonic())

    def connect(self, connection: ManagedConnection) -> bool:
        self._accepted += 1
        most = self.limits.connections_per_address
        count = 0
        network = ""
        if most and (address := connection.address):  # unix sockets have none
            network = self._network_of(address)
            count = self._per_address[network] = self._per_address.get(network, 0) + 1
        self.connections[connection] = network
        if count <= most and len(self.connections) <= self.limits.connections:
            return True
        if count <= most and self.limits.closes_slowest:
            self._close_slowest(connection)
            return True
        self._refused += 1
        if len(self.connections) > self.limits.connections + _ANSWERED_BEYOND:
            connection.abort()
        return False

    def disconnect(self, connection: ManagedConnection) -> None:
        if self.unfinished:
            self.release_body(connection)
        network = self.connections.pop(connection, "")
        if not network:
            return
        self._per_address[network] -= 1
        if not self._per_address[network]:
            del self._per_address[network]

    def hold_body(self, connection: ManagedConnection, size: int) -> None:
        """Note the bytes of a body; above the limit of all bodies, end the oldest."""
        self._unfinished_bytes += size - self.unfinished.get(connection, 0)
        self.unfinished[connection] = size
        while self._unfinished_bytes > self.limits.unfinished_bytes:
            oldest = next(iter(self.unfinished))
            self.release_body(oldest)
            oldest.abort()

    def release_body(self, connection: ManagedConnection) -> None:
        self._unfinished_bytes -= self.unfinished.pop(connection, 0)

    def take_counts(self) -> tuple[int, int]:
        counts = self._accepted, self._refused
        self._accepted = self._refused = 0
        return counts

    def sweep(self, now: float) -> None:
        # Compare deadlines with the time of the last sweep: everything that had arrived
        # by then has been read, even if this process was delayed.
        last_sweep = self.now
        self._set_time(now)
        self.heads.tick()
        for connection in tuple(self.connections):
            try:
                connection.check(last_sweep)
            except Exception as error:
                self.handler.fail(error, None)
                connection.abort()

    def retire(self) -> None:
        """Close each connection after its next answer."""
        self._stopping = True
        self.retire_before = inf

    async def stop(self, notice: float, seconds: float) -> None:
        """End all connections within `seconds`, without losing a request.

        Idle connections are closed once the notice is over.
        """
        self.retire()
        begun = now = time.monotonic()
        while self.connections and now < begun + seconds:
            self.sweep(now)
            if now >= begun + notice:
                for connection in tuple(self.connections):
                    connection.end_if_idle(min(notice, LINGER_SECONDS))
            await asyncio.sleep(_STOP_POLL_SECONDS)
            now = time.monotonic()
        for connection in tuple(self.connections):
            connection.abort()

    def _close_slowest(self, newest: ManagedConnection) -> None:
        """Abort the connection that has waited longest for its client, if any has."""
        others = (each for each in self.connections if each is not newest)
        slowest = min(others, key=lambda each: each.waiting_since)
        if slowest.waiting_since < inf:
            slowest.abort()

    def _set_time(self, now: float) -> None:
        self.now = now
        self.head_deadline = now + self.limits.head_seconds
        self.body_deadline = now + self.limits.body_seconds
        self.idle_deadline = now + self.limits.idle_seconds
        self.linger_deadline = now + LINGER_SECONDS
        self.drain_deadline = now + self.limits.drain_seconds
        if not self._stopping:
            # Connections opened before this time are closed after their next answer.
            self.retire_before = now - MAX_AGE_SECONDS
