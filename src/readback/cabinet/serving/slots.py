"""Work in threads of its own: a few at once, and the caller waits a bounded time.

For what nothing else bounds, such as the look-up of a name. Nothing here depends on
Django.
"""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import BoundedSemaphore, Thread
from typing import TypeVar

T = TypeVar("T")


class NoFreeSlot(Exception):
    """Too much work is running, or the system allows no more threads."""


class Slots:
    """How many threads may work at once. A slot is in use until its thread ends."""

    def __init__(self, count: int) -> None:
        self._free = BoundedSemaphore(count)

    @property
    def free(self) -> int:
        return self._free._value

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """Return what the work returns, or raise what it raises.

        Raise `TimeoutError` if that takes longer, and `NoFreeSlot` if it cannot begin.
        """
        if not self._free.acquire(blocking=False):
            raise NoFreeSlot
        ended: Future[T] = Future()
        try:
            # A daemon, so that a process can stop while the look-up of a name hangs.
            Thread(target=self._work, args=(work, ended), daemon=True).start()
        except BaseException as error:
            self._free.release()
            if isinstance(error, RuntimeError):  # no more threads
                raise NoFreeSlot from None
            raise
        return ended.result(seconds)

    def _work(self, work: Callable[[], T], ended: Future[T]) -> None:
        try:
            end = partial(ended.set_result, work())
        except BaseException as error:  # raised in the caller's thread
            end = partial(ended.set_exception, error)
        # First: a caller that has the result may begin again.
        self._free.release()
        end()
