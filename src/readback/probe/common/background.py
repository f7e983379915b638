"""Runs a function in its own thread, which never keeps the program from ending."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, NoReturn, TypeVar

Result = TypeVar("Result")


class BackgroundCall(Generic[Result]):
    """A function call in a thread; `result` waits until it ends."""

    def __init__(self, function: Callable[[], Result]) -> None:
        self._function = function
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self.is_done = False
        # Events and conditions of `threading` are written in Python: Ctrl-C during a
        # wait can leave them in an inconsistent state. A plain lock has no such state.
        self._lock = threading.Lock()
        self._lock.acquire()
        threading.Thread(target=self._run, daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait at most this long for the call; return whether it has ended."""
        if not self.is_done and self._lock.acquire(timeout=seconds):
            self._lock.release()
        return self.is_done

    def result(self, timeout: float | None = None) -> Result:
        """Return the call's result or raise its error; raise `TimeoutError` if late."""
        self.wait(threading.TIMEOUT_MAX if timeout is None else timeout)
        if self._error is not None:
            raise self._error
        if not self._results:
            raise TimeoutError
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._function())
        except BaseException as error:
            self._error = error
        finally:
            self.is_done = True
            self._lock.release()


def end_process(code: int) -> NoReturn:
    """End the process at once: in a normal exit, a thread inside OpenSSL can crash."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)
