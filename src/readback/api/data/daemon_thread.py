"""A thread that runs one function after the other, and keeps no process alive.

A ThreadPoolExecutor joins its threads when the process ends. Work that hangs, as on a
disk that does not answer, must not keep a worker from ending.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any


class DaemonThread(Executor):
    """One thread, for `run_in_executor`."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, work: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
        future: Future[Any] = Future()
        self._calls.put((future, partial(work, *args, **named)))
        return future

    def _run(self) -> None:
        while True:
            future, work = self._calls.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
