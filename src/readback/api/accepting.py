"""Which of the API's listening sockets a worker accepts connections from.

    socket                                      who accepts from it
    ------------------------------------------  ------------------------------
    the only one of its address                 every worker
    one of several, with a worker at its place  the workers at its place
    one of several, and its place is silent     every worker, until one reports

Several sockets of one address are spread over the places (`shared/memory.py`), and the
kernel distributes connections evenly among them. Every process keeps all of them open,
so a queue outlives the worker that should have emptied it. The ops listener has no part
in this.
"""

import asyncio
import socket
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress

from readback.api.shared.memory import Places

# Starts to accept from a socket, and closes it when the server is closed.
Accept = Callable[[socket.socket], Awaitable[asyncio.Server]]


class Accepting:
    """The listening sockets of the API in one worker."""

    def __init__(
        self, sockets: list[socket.socket], place: int, places: Places, accept: Accept
    ) -> None:
        self.sockets = sockets
        self._place = place
        self._places = places
        self._accept = accept
        # The place of each socket; None if all workers accept from it.
        self._owners = _owners(sockets, places.count)
        self._servers: dict[socket.socket, asyncio.Server] = {}

    async def update(self) -> None:
        """Report, and accept for silent places, too. Call this at every tick."""
        if not self.sockets:
            return
        self._places.report(self._place)
        for listener in self.sockets:
            owner = self._owners[listener]
            if owner is None or owner == self._place:
                await self._start(listener)
            elif self._places.is_silent(owner):
                # Without a free descriptor, the next tick tries again.
                with suppress(OSError):
                    await self._start(listener)
            elif server := self._servers.pop(listener, None):
                server.close()

    async def accept_from_all(self) -> None:
        """Share all sockets from now on, so that no worker has to empty a queue."""
        self._owners = dict.fromkeys(self.sockets)
        await self.update()

    def close(self) -> None:
        for server in self._servers.values():
            server.close()
        for listener in self.sockets:
            listener.close()
        self._servers, self.sockets = {}, []

    async def _start(self, listener: socket.socket) -> None:
        if listener not in self._servers:
            # A copy, because closing the server closes its socket.
            self._servers[listener] = await self._accept(listener.dup())


def _owners(
    sockets: list[socket.socket], places: int
) -> dict[socket.socket, int | None]:
    by_address: dict[object, list[socket.socket]] = defaultdict(list)
    for listener in sockets:
        by_address[listener.getsockname()].append(listener)
    return {
        listener: number % places if len(group) >= places else None
        for group in by_address.values()
        for number, listener in enumerate(group)
    }
