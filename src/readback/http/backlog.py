"""Connections whose next messages have arrived already, and how they share the time.

A connection answers the first message of what it receives at once. If a client has sent
several, the others wait here, and the client's connection is not read meanwhile. So the
request of a client that sends one at a time waits for one round of this work at most,
however many others send many at once.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

# How long a connection may work on its messages before it is the turn of the next one …
CONNECTION_SECONDS = 0.001
# … and how long all of them before the event loop looks for new bytes. It also accepts
# only one new connection in between, so a longer round would make many of them wait.
ROUND_SECONDS = 0.001

# Works on at least one message, and on further ones until this time; returns whether
# there are more.
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
            # If the work raises an exception, which the event loop logs, others wait.
            if waiting:
                asyncio.get_running_loop().call_soon(self._work_for_a_while)
