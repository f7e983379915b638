"""Threads that work in the background of a test."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def running(
    threads: Sequence[threading.Thread], stop: threading.Event
) -> Iterator[None]:
    """Start the threads; at the end, tell them to stop and wait for them."""
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(20)
