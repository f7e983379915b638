"""Requests with rehearsal keys that wait before they are answered.

While they wait, they hold no thread and no lock. Their bodies are read afterwards.
"""

import asyncio
from collections.abc import Callable

from readback.api.data.keyring import Record

# How many of a key's requests may wait at the same time; any more do not wait.
MAX_WAITING = 16
GoOn = Callable[[], None]


class Delays:
    """A worker's delayed requests; `stop` ends their waits."""

    def __init__(self) -> None:
        self._waiting: dict[GoOn, tuple[Record, asyncio.TimerHandle]] = {}
        self._is_stopping = False

    def add(self, record: Record, seconds: int, go_on: GoOn) -> bool:
        """Delay a request; return False if it must continue at once."""
        if self._is_stopping or record.waiting >= MAX_WAITING:
            return False
        record.waiting += 1
        timer = asyncio.get_running_loop().call_later(seconds, self._end, go_on)
        self._waiting[go_on] = (record, timer)
        return True

    def stop(self) -> None:
        self._is_stopping = True
        for go_on in list(self._waiting):
            self._end(go_on)

    def _end(self, go_on: GoOn) -> None:
        record, timer = self._waiting.pop(go_on)
        timer.cancel()
        record.waiting -= 1
        go_on()
