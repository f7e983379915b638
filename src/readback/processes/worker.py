"""What all workers have in common: they report, and they stop when told to.

The API and the cabinet implement the abstract methods of `Worker`. The manager forks
the process, and sees in the worker's row of counters whether the worker is alive.
"""

import asyncio
import gc
import os
import signal
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import uvloop

from readback import logs
from readback.config import Config
from readback.processes import listening
from readback.processes.lifecycle import Lifecycle
from readback.processes.shared_counters import REPORTED_AT, SharedCounters

MOMENT_SECONDS = 0.05
# How often a worker does its periodic work.
TICK_SECONDS = 0.5
# How long waiting connections are accepted while new ones are turned away.
_QUEUE_SECONDS = 1.0


@dataclass(eq=False)
class Server:
    """The API or the cabinet: what its workers share, created before the forks."""

    name: str
    config: Config
    lifecycle: Lifecycle
    listeners: list[socket.socket]
    counters: SharedCounters
    # During a reload, twice as many run.
    workers: int
    # How long a worker may take to stop before it is killed.
    stop_seconds: float
    # Creates the worker with this row of counters; called in the worker's process.
    make_worker: Callable[["Server", int], "Worker"]
    # Called once for the whole service, by the first worker before it starts.
    prepare_service: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        # Systemd also listens on its sockets. They were passed through exec, so they
        # are inheritable.
        inheritable = [each.get_inheritable() for each in self.listeners]
        self.owns_listeners = not any(inheritable)


class Connections(Protocol):
    """The open connections of a listener, as the worker sees them."""

    def retire(self) -> None:
        """Close each connection after its next answer."""

    async def stop(self, notice: float, seconds: float) -> None:
        """Close idle connections after the notice, and all others within `seconds`."""


class Worker(ABC):
    """One process with one event loop."""

    def __init__(self, server: Server, row: int) -> None:
        self.config = server.config
        self.lifecycle = server.lifecycle
        self.listeners = server.listeners
        self.all_counters = server.counters
        self.counters = server.counters.row(row)
        # Only the first worker writes log lines that concern all of them.
        self.is_first = row % server.workers == 0
        self._owns_listeners = server.owns_listeners
        self._manager = os.getppid()
        self._serves = False
        self.stopping = asyncio.Event()

    @abstractmethod
    def prepare(self) -> None:
        """Get ready to listen. SIGTERM may end the process at any point."""

    @abstractmethod
    async def listen(self) -> None:
        """Accept connections; return once this worker is ready for requests."""

    @abstractmethod
    async def stop(self) -> None:
        """Accept no more connections, answer pending requests, and finish all work."""

    @abstractmethod
    def tick(self) -> None:
        """Do the periodic work of the API or the cabinet."""

    def run(self) -> None:
        # Objects created at startup are kept for good, so do not look for garbage yet.
        # Memory that the collector never touches stays shared with the manager.
        gc.disable()
        try:
            self.prepare()
            uvloop.run(self._serve())
        finally:
            logs.flush()
            self.counters.count_log_lines()

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stopping.set)
        await self.tick_during(self.listen())
        self._serves = True
        gc.freeze()
        gc.enable()
        await self.tick_during(self.stopping.wait())
        self._notice_stop()  # the manager may have ended since the last tick
        await self.stop()

    async def tick_during(self, work: Coroutine[Any, Any, object]) -> None:
        """Do the periodic work until this coroutine has ended."""
        task = asyncio.create_task(work)
        await asyncio.sleep(0)  # let the coroutine begin first
        while not task.done():
            self._notice_stop()
            self.counters.count_log_lines()
            self.tick()
            if self._serves:
                self.counters.set(REPORTED_AT, int(time.monotonic() * 1000))
            await asyncio.wait([task], timeout=TICK_SECONDS)
        task.result()  # raises what the coroutine has raised

    async def end_connections(
        self,
        connections: Connections,
        listeners: Sequence[socket.socket],
        servers: Sequence[asyncio.Server],
    ) -> None:
        """Accept no more connections; end the open ones without losing a request."""
        lifecycle = self.lifecycle
        deadline = time.monotonic() + self.config.stop_timeout
        notice = lifecycle.notice(self.config)
        # Do this first, so that no answer keeps its connection open after the listeners
        # have closed.
        connections.retire()
        if lifecycle.is_stopping and lifecycle.is_watched and not lifecycle.is_hurried:
            # Readiness checks fail now, so balancers send new requests elsewhere.
            await asyncio.sleep(notice)
        await self._stop_listening(listeners, servers)
        await connections.stop(notice, deadline - time.monotonic())

    async def _stop_listening(
        self, listeners: Sequence[socket.socket], servers: Sequence[asyncio.Server]
    ) -> None:
        """Close the listeners without losing connections that the kernel has accepted.

        If other processes go on listening, they accept what is in the queue.
        """
        is_last = self.lifecycle.is_stopping and self._owns_listeners
        if is_last:
            for listener in listeners:
                listening.turn_away(listener)
            await asyncio.sleep(MOMENT_SECONDS)
            await asyncio.sleep(self.handshake_seconds())
            # The event loop accepts only a few in each iteration.
            end = time.monotonic() + _QUEUE_SECONDS
            is_waiting = listening.is_anyone_waiting
            while any(map(is_waiting, listeners)) and time.monotonic() < end:
                await asyncio.sleep(0)
            for listener in listeners:
                listening.refuse(listener)
        for server in servers:
            server.close()
        # The event loop needs a moment to register what it has just accepted.
        await asyncio.sleep(MOMENT_SECONDS if is_last else self.handshake_seconds())
        listening.let_in()

    def handshake_seconds(self) -> float:
        """Return how long to wait for handshakes that are under way."""
        return 0.0

    def _notice_stop(self) -> None:
        if os.getppid() != self._manager:  # the manager has ended
            self.lifecycle.stop()
        if self.lifecycle.is_stopping:
            self.stopping.set()
