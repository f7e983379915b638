"""The requests that wait in a worker as part of a rehearsal.

They occupy no thread and no lock, and their body is read afterwards. Their number is
bounded by the rate of their key, and by the connections.
"""

import asyncio
from collections.abc import Callable

GoOn = Callable[[], None]


class Delays:
    """All delayed requests, so that a stop can end their wait."""

    def __init__(self) -> None:
        self._timers: dict[GoOn, asyncio.TimerHandle] = {}
        self._is_stopping = False

    def add(self, seconds: int, go_on: GoOn) -> bool:
        """Let a request go on later; return False if it has to at once."""
        if self._is_stopping:
            return False
        loop = asyncio.get_running_loop()
        self._timers[go_on] = loop.call_later(seconds, self._end, go_on)
        return True

    def stop(self) -> None:
        """End all waits."""
        self._is_stopping = True
        for go_on in list(self._timers):
            self._end(go_on)

    def _end(self, go_on: GoOn) -> None:
        self._timers.pop(go_on).cancel()
        go_on()
