"""Wait for a condition with a deadline; the tests sleep nowhere else."""

import time
from collections.abc import Callable

POLL_SECONDS = 0.01


def wait_until(condition: Callable[[], object], what: str, seconds: float = 10) -> None:
    """Return as soon as the condition is true; fail after this many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not true within {seconds} s: {what}"
        time.sleep(POLL_SECONDS)
