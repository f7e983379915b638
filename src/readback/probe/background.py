"""Runs one function in a thread of its own that never keeps the program from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class BackgroundCall(Generic[Result]):
    """A call that has been started; `result` waits for its end."""

    def __init__(self, function: Callable[[], Result]) -> None:
        self._function = function
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> bool:
        """Wait at most this long for the end of the call; return whether it came."""
        self._thread.join(seconds)
        return self.is_done

    def result(self, timeout: float | None = None) -> Result:
        """Return the result or raise the error of the call; `TimeoutError` if late."""
        self._thread.join(timeout)
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
