"""Connections whose next messages have already arrived, and how they take turns.

A connection answers the first message of what it receives at once. If a client has sent
several, its connection waits here before each of the others, and is not read meanwhile.
So a client that sends one request at a time waits for at most one pass of this work,
however many requests others send at once.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

# How long a pass takes before the event loop looks for new bytes. It also accepts only
# one new connection in between, so a longer pass would make many of them wait.
ROUND_SECONDS = 0.001

# Works on one message, and adds itself again if there are more.
Work = Callable[[], None]


class Backlog:
    """The connections of one listener that have more messages to work on."""

    def __init__(self) -> None:
        self._waiting: deque[Work] = deque()
        self._is_scheduled = False

    def add(self, work: Work) -> None:
        self._waiting.append(work)
        if not self._is_scheduled:
            self._schedule()

    def _work_for_a_while(self) -> None:
        end = monotonic() + ROUND_SECONDS
        try:
            while self._waiting:
                work = self._waiting.popleft()
                work()
                if monotonic() >= end:
                    break
        finally:
            # The others stay here if the work raises an exception, which the event loop
            # logs.
            self._is_scheduled = False
            if self._waiting:
                self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._work_for_a_while)
