"""Wait for a condition, so that no test sleeps for a fixed time."""

import asyncio
import time
from collections.abc import Callable

POLL_SECONDS = 0.01
LONGEST_POLL_SECONDS = 0.1
PATIENCE = 60.0
"""Seconds to wait for something short. Only failing tests wait that long."""

What = str | Callable[[], str]
"""The condition in words; a function if the words depend on the outcome."""


def wait_until(
    condition: Callable[[], object], what: What, seconds: float = PATIENCE
) -> None:
    """Return as soon as the condition is true; fail after this many seconds."""
    began = time.monotonic()
    deadline = began + seconds
    while not condition():
        _check(deadline, what, seconds)
        # A check that scans processes or renders metrics takes longer than the pause,
        # and would use the CPU time that the condition needs to become true.
        pause = 3 * (time.monotonic() - began)
        time.sleep(min(max(pause, POLL_SECONDS), LONGEST_POLL_SECONDS))
        began = time.monotonic()


async def wait_in_loop_until(condition: Callable[[], object], what: What) -> None:
    """Like `wait_until`, but in an event loop and without blocking it."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        _check(deadline, what, PATIENCE)
        await asyncio.sleep(POLL_SECONDS)


def _check(deadline: float, what: What, seconds: float) -> None:
    if time.monotonic() >= deadline:
        words = what if isinstance(what, str) else what()
        raise AssertionError(f"not true within {seconds:.3g} s: {words}")
