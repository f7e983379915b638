"""Connections whose next messages have arrived already, and how they share the time.

A connection answers the first message that it receives at once. If a client has sent
several, the others wait here, and its connection is not read meanwhile. So a client
that sends one request at a time waits for at most one round of this work.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

# How long a connection may work before the next one does …
CONNECTION_SECONDS = 0.001
# … and all of them, before the event loop reads new bytes and accepts one connection.
ROUND_SECONDS = 0.001

# Works on one message or more until this time; returns whether there are more.
Work = Callable[[float], bool]


class Backlog:
    """The connections of one listener that have more to do."""

    def __init__(self) -> None:
        self._waiting: deque[Work] = deque()

    def add(self, work: Work) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._work_for_a_while)
        self._waiting.append(work)

    def _work_for_a_while(self) -> None:
        waiting = self._waiting
        now = monotonic()
        end = now + ROUND_SECONDS
        try:
            while waiting and now < end:
                work = waiting.popleft()
                if work(now + CONNECTION_SECONDS):
                    waiting.append(work)
                now = monotonic()
        finally:
            if waiting:
                asyncio.get_running_loop().call_soon(self._work_for_a_while)
